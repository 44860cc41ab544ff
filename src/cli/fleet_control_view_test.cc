#include "cli/fleet_control_view.h"

#include <gtest/gtest.h>

namespace perjoule::cli {
namespace {

FleetEvent clock_event() {
  FleetEvent event;
  event.kind = FleetEvent::Kind::kClock;
  event.result = FleetEvent::Result::kFailed;
  event.at = Seconds(5);
  event.subject = "n1-0";
  event.text = "1980 MHz -> 990 MHz";
  event.failure = "no\tright";
  event.why = PoolReasons{120, 150, 1.05, 900, {}};
  return event;
}

TEST(FleetControlView, SaysWhatWhyAndWhatBecameOfIt) {
  EXPECT_EQ(event_line(clock_event()),
            " 5.000 s  clock n1-0: 1980 MHz -> 990 MHz: failed, no right (load 120/s, recent peak "
            "150/s, caution 1.05, carried 900/s)\n");
  FleetEvent start = clock_event();
  start.why->expected = ExpectedLoad{700, ForecastBasis::kHistory};
  EXPECT_NE(event_line(start).find("carried 900/s, expected 700/s by history)"), std::string::npos);
  EXPECT_EQ(event_json(start).find("why")->string("expected_by"), "history");
  EXPECT_EQ(event_json(start).find("why")->number("expected_tps"), 700);
  FleetEvent note;
  note.subject = "n1";
  note.text = "serves";
  EXPECT_EQ(event_line(note), "     0 s  n1: serves\n");
}

TEST(FleetControlView, SaysTheSameInJson) {
  const Json json = event_json(clock_event());
  EXPECT_EQ(json.string("schema"), "perjoule.fleet-control.v1");
  EXPECT_EQ(json.string("event"), "clock");
  EXPECT_EQ(json.string("result"), "failed");
  EXPECT_EQ(json.find("why")->number("carried_tps"), 900);
  EXPECT_TRUE(json.find("why")->find("expected_by")->is_null());
}

TEST(FleetControlView, CountsWhatWasDone) {
  FleetTally tally;
  tally.add(clock_event());
  FleetEvent done = clock_event();
  done.result = FleetEvent::Result::kDone;
  tally.add(done);
  done.kind = FleetEvent::Kind::kStart;
  done.result = FleetEvent::Result::kBegun;  // counted once it is done
  tally.add(done);
  const Json json = tally.json(Seconds(10), true, 0);
  EXPECT_EQ(json.integer("clock_changes"), 1);
  EXPECT_EQ(json.integer("starts"), 0);
  EXPECT_EQ(json.integer("failed"), 1);
  EXPECT_TRUE(json.find("signal")->is_null());
}

}  // namespace
}  // namespace perjoule::cli
