#include "server/http/event_hub.h"

#include <gtest/gtest.h>

#include "server/http/test_exchange.h"

namespace perjoule {
namespace {

TEST(EventHubTest, AllGetWhatIsPublishedAndWhoComesTheNewest) {
  EventHub hub;
  const auto first = std::make_shared<TestExchange>();
  ASSERT_TRUE(hub.join(first, std::nullopt));
  hub.publish("picture", "{\"a\":1}");
  EXPECT_EQ(first->text(), "id: 1\nevent: picture\ndata: {\"a\":1}\n\n");
  hub.publish("picture", "{\"a\":2}");
  const auto second = std::make_shared<TestExchange>();
  ASSERT_TRUE(hub.join(second, std::nullopt));
  EXPECT_EQ(second->text(), "id: 2\nevent: picture\ndata: {\"a\":2}\n\n");
  EXPECT_EQ(hub.listeners(), 2U);
  hub.ended(*first);
  EXPECT_EQ(hub.listeners(), 1U);
}

TEST(EventHubTest, WhoComesBackGetsWhatHeMissed) {
  EventHub hub({.kept = 3});
  for (int i = 1; i <= 5; ++i) hub.publish("e", std::to_string(i));
  const auto text_since = [&](std::optional<std::uint64_t> last) {
    const auto exchange = std::make_shared<TestExchange>();
    EXPECT_TRUE(hub.join(exchange, last));
    return exchange->text();
  };
  EXPECT_EQ(text_since(5), "");
  EXPECT_EQ(text_since(4), "id: 5\nevent: e\ndata: 5\n\n");
  EXPECT_EQ(text_since(1).find("id: 3"), 0U) << "the oldest that is kept";
  EXPECT_EQ(text_since(77).find("id: 5"), 0U) << "of a daemon before this one";
}

TEST(EventHubTest, AnIdSaysWhoseEventItIs) {
  EventHub hub({}, "5f3a");
  hub.publish("e", "1");
  hub.publish("e", "2");
  const auto exchange = std::make_shared<TestExchange>();
  ASSERT_TRUE(hub.join(exchange, hub.number_of("5f3a-1")));
  EXPECT_EQ(exchange->text(), "id: 5f3a-2\nevent: e\ndata: 2\n\n");
  for (const char* const other : {"", "1", "5f3a", "5f3a-", "5f3b-1", "5f3a-x", "5f3a--1"}) {
    EXPECT_FALSE(hub.number_of(other)) << other;
  }
  EXPECT_EQ(EventHub().number_of("7"), 7U);
}

TEST(EventHubTest, WhoLagsIsEnded) {
  EventHub hub({.lag_bytes = 1000});
  const auto lazy = std::make_shared<TestExchange>();
  const auto brisk = std::make_shared<TestExchange>();
  ASSERT_TRUE(hub.join(lazy, std::nullopt));
  ASSERT_TRUE(hub.join(brisk, std::nullopt));
  lazy->lag();
  for (int i = 0; i < 20; ++i) hub.publish("e", std::string(100, 'x'));
  EXPECT_TRUE(lazy->is_over());
  EXPECT_TRUE(lazy->is_broken());
  EXPECT_FALSE(brisk->is_over());
  EXPECT_EQ(hub.listeners(), 1U);
  EXPECT_EQ(hub.dropped(), 1U);
}

TEST(EventHubTest, HasNoRoomForAllAndEndsThoseThereAre) {
  EventHub hub({.listeners = 1});
  const auto only = std::make_shared<TestExchange>();
  ASSERT_TRUE(hub.join(only, std::nullopt));
  EXPECT_FALSE(hub.join(std::make_shared<TestExchange>(), std::nullopt));
  hub.keep_alive();
  EXPECT_EQ(only->text(), ": alive\n\n");
  hub.close();
  EXPECT_TRUE(only->is_over());
  EXPECT_FALSE(only->is_broken());
  EXPECT_FALSE(hub.join(std::make_shared<TestExchange>(), std::nullopt));
}

}  // namespace
}  // namespace perjoule
