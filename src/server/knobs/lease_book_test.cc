#include "server/knobs/lease_book.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace perjoule {
namespace {

/// Remembers what is turned; takes nothing back while it is told not to.
class FakeHand final : public KnobHand {
 public:
  Result<std::string> turn(const std::string& knob, const std::string& value) override {
    if (knob == "none") return Error::not_found("there is no knob none");
    if (value == "bad") return Error::invalid_argument("out of range");
    turned[knob] = value;
    return value == "700 W" ? "650 W" : value;
  }
  Outcome put_back(const std::string& knob) override {
    if (is_stuck) return Error::unavailable("the driver does not answer");
    turned.erase(knob);
    return {};
  }
  std::map<std::string, std::string> turned;
  bool is_stuck = false;
};

class LeaseBookTest : public testing::Test {
 protected:
  Result<Lease> take(const std::string& knob, const std::string& value, const std::string& owner,
                     double seconds = 10) {
    return book_.take({.knob = knob, .value = value, .length = Seconds(seconds), .owner = owner});
  }
  VirtualClock clock_{Instant{1'000'000'000}};
  FakeHand hand_;
  LeaseBook book_{hand_, clock_, false};
};

TEST_F(LeaseBookTest, ALeaseEndsUnlessItIsRenewed) {
  const auto lease = take("a", "700 W", "me");
  ASSERT_TRUE(lease) << lease.error().text();
  EXPECT_EQ(lease->in_force, "650 W");
  EXPECT_EQ(hand_.turned.at("a"), "700 W");
  clock_.advance(Seconds(9));
  book_.end_overdue();
  ASSERT_TRUE(book_.renew(lease->id, "me", std::nullopt, Seconds(10)));
  clock_.advance(Seconds(9));
  book_.end_overdue();
  EXPECT_EQ(hand_.turned.size(), 1U);
  clock_.advance(Seconds(1));
  book_.end_overdue();
  EXPECT_TRUE(hand_.turned.empty());
  EXPECT_EQ(book_.renew(lease->id, "me", std::nullopt, Seconds(10)).error().code,
            ErrorCode::kNotFound);
}

TEST_F(LeaseBookTest, AKnobHasOneLease) {
  const auto lease = take("a", "300 W", "me");
  ASSERT_TRUE(lease);
  const auto other = take("a", "200 W", "you");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kConflict);
  EXPECT_NE(other.error().message.find("leased to me for another 10"), std::string::npos)
      << other.error().message;
  EXPECT_EQ(take("a", "200 W", "me").error().code, ErrorCode::kConflict) << "renew it instead";
  EXPECT_TRUE(take("b", "200 W", "you"));
}

TEST_F(LeaseBookTest, OnlyItsOwnerOrAnAdminDisposesOfALease) {
  const auto lease = take("a", "300 W", "me");
  ASSERT_TRUE(lease);
  EXPECT_EQ(book_.renew(lease->id, "you", "200 W", Seconds(5)).error().code,
            ErrorCode::kPermissionDenied);
  EXPECT_EQ(book_.give_back(lease->id, "you", false).error().code, ErrorCode::kPermissionDenied);
  const auto changed = book_.renew(lease->id, "me", "200 W", Seconds(5));
  ASSERT_TRUE(changed);
  EXPECT_EQ(hand_.turned.at("a"), "200 W");
  ASSERT_TRUE(book_.give_back(lease->id, "root", true));
  EXPECT_TRUE(hand_.turned.empty());
  EXPECT_TRUE(book_.all().empty());
}

TEST_F(LeaseBookTest, WhatTheDriverRefusesIsNoLease) {
  EXPECT_EQ(take("none", "300 W", "me").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(take("a", "bad", "me").error().code, ErrorCode::kInvalidArgument);
  for (const double seconds : {0.0, 0.5, -1.0, 1e6, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(take("a", "300 W", "me", seconds).error().code, ErrorCode::kInvalidArgument)
        << seconds;
  }
  EXPECT_TRUE(book_.all().empty());
  const auto lease = take("a", "300 W", "me");
  ASSERT_TRUE(lease);
  EXPECT_FALSE(book_.renew(lease->id, "me", "bad", Seconds(5)));
  EXPECT_EQ(book_.find(lease->id)->value, "300 W") << "and stays what it was";
}

TEST_F(LeaseBookTest, AKnobThatDoesNotGoBackIsTriedAgain) {
  const auto lease = take("a", "300 W", "me");
  ASSERT_TRUE(lease);
  hand_.is_stuck = true;
  clock_.advance(Seconds(11));
  book_.end_overdue();
  ASSERT_EQ(book_.all().size(), 1U);
  EXPECT_NE(book_.all()[0].trouble.find("does not answer"), std::string::npos);
  EXPECT_EQ(book_.renew(lease->id, "me", std::nullopt, Seconds(5)).error().code,
            ErrorCode::kUnavailable)
      << "it is over";
  EXPECT_FALSE(book_.end_all());
  EXPECT_EQ(take("a", "300 W", "me").error().code, ErrorCode::kConflict);
  hand_.is_stuck = false;
  book_.end_overdue();
  EXPECT_TRUE(hand_.turned.empty());
  EXPECT_TRUE(book_.all().empty());
}

RC_GTEST_PROP(LeaseBookPropertyTest, WhatIsTurnedIsWhatIsLeased, ()) {
  VirtualClock clock;
  FakeHand hand;
  {
    LeaseBook book(hand, clock, false);
    std::vector<std::string> ids;
    for (int step = 0, steps = *rc::gen::inRange(1, 60); step < steps; ++step) {
      const std::string knob = std::string(1, static_cast<char>(*rc::gen::inRange<int>('a', 'e')));
      const std::string owner = *rc::gen::element<std::string>("me", "you");
      const std::string id = ids.empty() ? "x" : *rc::gen::elementOf(ids);
      const Seconds length(*rc::gen::inRange(1, 20));
      switch (*rc::gen::inRange(0, 5)) {
        case 0:
        case 1:
          if (const auto lease =
                  book.take({.knob = knob, .value = "1", .length = length, .owner = owner})) {
            ids.push_back(lease->id);
          }
          break;
        case 2:
          (void)book.renew(id, owner, "2", length);
          break;
        case 3:
          (void)book.give_back(id, owner, false);
          break;
        default:
          clock.advance(Seconds(*rc::gen::inRange(0, 10)));
          book.end_overdue();
      }
      std::map<std::string, std::string> leased;
      for (const Lease& lease : book.all()) leased[lease.knob] = lease.value;
      RC_ASSERT(leased == hand.turned);
    }
  }
  RC_ASSERT(hand.turned.empty());
}

}  // namespace
}  // namespace perjoule
