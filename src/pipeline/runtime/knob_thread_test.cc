#include "pipeline/runtime/knob_thread.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/file.h"
#include "device/temp_tree.h"
#include "pipeline/runtime/fake_knob.h"

namespace perjoule {
namespace {

using Values = std::vector<std::string>;

class KnobThreadTest : public testing::Test {
 protected:
  KnobThreadTest() {
    auto journal = KnobJournal::open(folder(), {});
    EXPECT_TRUE(journal) << journal.error().text();
    thread_ = std::make_unique<KnobThread>(std::move(*journal));
  }
  std::string folder() const { return tree_ / "knobs"; }
  KnobValues clock_at(const std::string& value) { return {{&clock_, value}}; }
  /// Whether the journal knows of no knob that is turned.
  bool nothing_is_journalled() const { return list_folder(folder()).empty(); }

  TempTree tree_;
  FakeKnob clock_{"gpu:a"};
  FakeKnob memory_{"gpu:a", "memory clock", "1215 MHz"};
  std::unique_ptr<KnobThread> thread_;
};

TEST_F(KnobThreadTest, AWishIsFulfilledBesideAndOnce) {
  const KnobValues slow = clock_at("900 MHz");
  thread_->want(&slow);
  thread_->settle();
  EXPECT_EQ(clock_.value(), "900 MHz");
  thread_->want(&slow);
  thread_->settle();
  EXPECT_EQ(clock_.history(), Values{"900 MHz"}) << "what is in force is not set again";
  EXPECT_EQ(thread_->turns(), 1);
  EXPECT_FALSE(thread_->failure());
  EXPECT_TRUE(thread_->notes().empty());
  EXPECT_FALSE(nothing_is_journalled());
}

TEST_F(KnobThreadTest, OnlyTheNewestWishCounts) {
  auto first = std::make_unique<KnobValues>(clock_at("1200 MHz"));
  auto second = std::make_unique<KnobValues>(clock_at("1000 MHz"));
  const KnobValues third = clock_at("900 MHz");
  clock_.hold();
  thread_->want(first.get());
  ASSERT_TRUE(clock_.wait_until_held());
  thread_->want(second.get());
  // Once another wish is there, a wish may be freed, though the driver still works on it.
  first.reset();
  thread_->want(&third);
  second.reset();
  clock_.release();
  thread_->settle();
  EXPECT_EQ(clock_.history(), (Values{"1200 MHz", "900 MHz"}));
  EXPECT_EQ(thread_->turns(), 2);
}

TEST_F(KnobThreadTest, AWishOfSeveralKnobsTurnsOnlyThoseThatChange) {
  const KnobValues both{{&memory_, "800 MHz"}, {&clock_, "900 MHz"}};
  const KnobValues other{{&memory_, "800 MHz"}, {&clock_, "1000 MHz"}};
  thread_->want(&both);
  thread_->settle();
  thread_->want(&other);
  thread_->settle();
  EXPECT_EQ(memory_.history(), Values{"800 MHz"});
  EXPECT_EQ(clock_.history(), (Values{"900 MHz", "1000 MHz"}));
  EXPECT_EQ(thread_->turns(), 3);
}

TEST_F(KnobThreadTest, AKnobThatFailsIsPutBackWithAllOthersAndNotTriedAgain) {
  const KnobValues good{{&memory_, "800 MHz"}, {&clock_, "1200 MHz"}};
  const KnobValues bad{{&memory_, "700 MHz"}, {&clock_, "900 MHz"}};
  thread_->want(&good);
  thread_->settle();
  clock_.refuse("900 MHz");
  thread_->want(&bad);
  thread_->settle();
  ASSERT_TRUE(thread_->failure());
  EXPECT_EQ(thread_->failure()->code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(thread_->failure()->message, "the driver takes no 900 MHz");
  // Joined, so that what it does behind the failure is done.
  EXPECT_TRUE(thread_->finish());
  EXPECT_EQ(clock_.value(), "1410 MHz");
  EXPECT_EQ(memory_.value(), "1215 MHz");
  EXPECT_TRUE(nothing_is_journalled());
}

TEST_F(KnobThreadTest, AfterAFailureWishesAreTakenAndForgotten) {
  const KnobValues bad = clock_at("900 MHz");
  const KnobValues good = clock_at("1200 MHz");
  clock_.refuse("900 MHz");
  thread_->want(&bad);
  thread_->settle();
  ASSERT_TRUE(thread_->failure());
  thread_->want(&good);
  thread_->settle();
  EXPECT_TRUE(thread_->finish());
  EXPECT_EQ(clock_.history(), Values{}) << "nothing was ever set, nor put back";
  EXPECT_EQ(thread_->turns(), 0);
}

TEST_F(KnobThreadTest, WhatAValueComesToIsNotedOnceEach) {
  clock_.cap("1100 MHz");
  const KnobValues high = clock_at("1300 MHz");
  const KnobValues higher = clock_at("1400 MHz");
  for (const KnobValues* wish : {&high, &higher, &high}) {
    thread_->want(wish);
    thread_->settle();
  }
  EXPECT_EQ(thread_->notes(), (Values{"gpu:a/clock: 1300 MHz asked, 1100 MHz in force",
                                      "gpu:a/clock: 1400 MHz asked, 1100 MHz in force"}));
  EXPECT_FALSE(thread_->failure());
}

TEST_F(KnobThreadTest, FinishPutsAllBackAsFoundForGood) {
  const KnobValues both{{&memory_, "800 MHz"}, {&clock_, "900 MHz"}};
  thread_->want(&both);
  thread_->settle();
  EXPECT_TRUE(thread_->finish());
  EXPECT_EQ(clock_.value(), "1410 MHz");
  EXPECT_EQ(memory_.value(), "1215 MHz");
  EXPECT_TRUE(nothing_is_journalled());
  thread_->want(&both);
  thread_->settle();
  EXPECT_TRUE(thread_->finish());
  EXPECT_EQ(clock_.history(), (Values{"900 MHz", "1410 MHz"}));
}

TEST_F(KnobThreadTest, FinishWaitsForADriverThatIsStillAtIt) {
  const KnobValues slow = clock_at("900 MHz");
  clock_.hold();
  thread_->want(&slow);
  ASSERT_TRUE(clock_.wait_until_held());
  std::thread finisher([this] { EXPECT_TRUE(thread_->finish()); });
  clock_.release();
  finisher.join();
  EXPECT_EQ(clock_.history(), (Values{"900 MHz", "1410 MHz"}));
}

TEST_F(KnobThreadTest, WhatCannotBePutBackIsSaidAndStaysInTheJournal) {
  const KnobValues slow = clock_at("900 MHz");
  thread_->want(&slow);
  thread_->settle();
  clock_.refuse("1410 MHz");
  const Outcome finished = thread_->finish();
  ASSERT_FALSE(finished);
  EXPECT_NE(finished.error().text().find("putting back gpu:a/clock"), std::string::npos)
      << finished.error().text();
  EXPECT_FALSE(nothing_is_journalled());
}

TEST_F(KnobThreadTest, ItsEndPutsAllBack) {
  const KnobValues slow = clock_at("900 MHz");
  thread_->want(&slow);
  thread_->settle();
  thread_.reset();
  EXPECT_EQ(clock_.value(), "1410 MHz");
  EXPECT_TRUE(nothing_is_journalled());
}

TEST_F(KnobThreadTest, OneThreadWishesWhileAnotherSettles) {
  const KnobValues wishes[] = {clock_at("900 MHz"), clock_at("1000 MHz"), clock_at("1200 MHz")};
  std::thread other([this] {
    for (int i = 0; i < 100; ++i) {
      thread_->settle();
      EXPECT_FALSE(thread_->failure());
      EXPECT_GE(thread_->turns(), 0);
      EXPECT_TRUE(thread_->notes().empty());
    }
  });
  for (int i = 0; i < 300; ++i) thread_->want(&wishes[i % 3]);
  other.join();
  thread_->settle();
  EXPECT_EQ(clock_.value(), "1200 MHz");
  EXPECT_EQ(static_cast<std::size_t>(thread_->turns()), clock_.history().size());
}

}  // namespace
}  // namespace perjoule
