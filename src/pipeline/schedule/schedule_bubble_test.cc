// What schedules promise, by simulation: that they run, how long the bubble is and how many
// microbatches a stage holds. What waits for what is worked out here anew from what the model's
// parts need, so that a precedence too few or too many in the schedule is found.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <optional>
#include <random>

#include "pipeline/schedule/schedule.h"
#include "pipeline/schedule/schedule_deeds.h"

namespace perjoule {
namespace {

/// What must have been done before a deed can be, by the model alone.
std::vector<Deed> needs_of(const Deed& deed, int last) {
  const auto [kind, part, m] = deed;
  std::vector<Deed> needs;
  if (kind == 'F' && part > 0) needs.push_back({'F', part - 1, m});
  if (kind == 'B') needs.push_back({'F', part, m});
  if (kind == 'B' && part < last) needs.push_back({'B', part + 1, m});
  if (kind == 'W') needs.push_back({'B', part, m});
  return needs;
}

/// Runs each stage's steps in issue order, each as soon as what it needs has been done; answers the
/// starts by activity, or none where stages wait for one another for ever.
std::optional<std::vector<Ticks>> run_by_needs(const PipelineSchedule& schedule,
                                               const std::vector<Ticks>& durations) {
  const int last = last_part(schedule);
  std::map<Deed, Ticks> done;
  std::vector<Ticks> start(schedule.size());
  std::vector<Ticks> free(schedule.stages.size());
  std::vector<std::size_t> next(schedule.stages.size());
  std::size_t left = schedule.size();
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage) {
      while (next[stage] < schedule.stages[stage].size()) {
        const std::vector<Deed> deeds =
            deeds_of(schedule, static_cast<int>(stage), schedule.stages[stage][next[stage]]);
        Ticks begin = free[stage];
        bool ready = true;
        for (const Deed& deed : deeds) {
          for (const Deed& need : needs_of(deed, last)) {
            // Both gradients may be of one step.
            if (std::find(deeds.begin(), deeds.end(), need) != deeds.end()) continue;
            const auto at = done.find(need);
            if (at == done.end()) {
              ready = false;
            } else {
              begin = std::max(begin, at->second);
            }
          }
        }
        if (!ready) break;
        const std::uint32_t activity = schedule.number(stage, next[stage]);
        start[activity] = begin;
        free[stage] = begin + durations[activity];
        for (const Deed& deed : deeds) done[deed] = free[stage];
        ++next[stage];
        --left;
        moved = true;
      }
    }
  }
  if (left > 0) return std::nullopt;
  return start;
}

TEST(ScheduleBubble, PrecedencesAreThoseThatTheModelNeedsAndNoOthers) {
  int schedules = 0;
  for (const int stages : {1, 2, 3, 4, 6, 8}) {
    for (const int microbatches :
         {1, 2, 3, 5, stages, 2 * stages, 2 * stages + 2, 4 * stages + 1}) {
      for (const int chunks : {2, 3}) {
        for (const PipelineSchedule& schedule :
             all_schedules({.stages = stages, .microbatches = microbatches, .chunks = chunks})) {
          SCOPED_TRACE(schedule.name + " " + std::to_string(stages) + "x" +
                       std::to_string(microbatches));
          ++schedules;
          std::mt19937 random(static_cast<unsigned>(schedules));
          std::vector<Ticks> durations(schedule.size());
          for (Ticks& d : durations) d = 1 + static_cast<Ticks>(random() % 50);
          const auto start = run_by_needs(schedule, durations);
          ASSERT_TRUE(start) << "stages wait for one another";
          EXPECT_EQ(*start, run(schedule, durations).start);
        }
      }
    }
  }
  EXPECT_GT(schedules, 600);
}

Ticks makespan(std::string_view name, const ScheduleShape& shape, const Times& times) {
  const auto schedule = make_schedule(name, shape);
  EXPECT_TRUE(schedule) << schedule.error().text();
  return run(*schedule, durations_of(*schedule, times)).makespan;
}

TEST(ScheduleBubble, MakespansOfEqualStagesAreTheKnownOnes) {
  for (const int stages : {1, 2, 3, 4, 8}) {
    for (const int microbatches : {1, 2, 4, 12, 16}) {
      const ScheduleShape shape{.stages = stages, .microbatches = microbatches};
      for (const Times& times :
           {Times{{"forward", 3}, {"backward", 5}}, Times{{"forward", 7}, {"backward", 7}}}) {
        const Ticks both = times.at("forward") + times.at("backward");
        const Ticks expected = (microbatches + stages - 1) * both;
        EXPECT_EQ(makespan("1f1b", shape, times), expected) << stages << 'x' << microbatches;
        EXPECT_EQ(makespan("gpipe", shape, times), expected);
        EXPECT_EQ(makespan("gpipe-same-order", shape, times), expected);
      }
    }
  }
}

TEST(ScheduleBubble, InterleavingDividesTheBubbleByTheChunks) {
  for (const int stages : {2, 4, 6}) {
    for (const int chunks : {2, 3, 4}) {
      for (const int groups : {1, 2, 5}) {
        const ScheduleShape shape{
            .stages = stages, .microbatches = groups * stages, .chunks = chunks};
        // A chunk's forward and backward: a chunks-th part of the stage's.
        const Times times{{"forward", 3}, {"backward", 6}};
        EXPECT_EQ(makespan("interleaved", shape, times),
                  (shape.microbatches * chunks + stages - 1) * 9)
            << stages << " stages, " << chunks << " chunks, " << groups << " groups";
      }
    }
  }
}

Ticks work_of(const PipelineSchedule& schedule, const std::vector<Ticks>& durations,
              std::size_t stage) {
  const auto first = durations.begin() + schedule.number(stage, 0);
  return std::accumulate(first, first + static_cast<std::ptrdiff_t>(schedule.stages[stage].size()),
                         Ticks{0});
}

/// Time from a stage's first start to its last end without work.
Ticks bubble_within(const PipelineSchedule& schedule, const std::vector<Ticks>& durations,
                    const EarliestTimes& times, std::size_t stage) {
  const std::uint32_t first = schedule.number(stage, 0);
  const std::uint32_t last = schedule.number(stage, schedule.stages[stage].size() - 1);
  return times.start[last] + durations[last] - times.start[first] -
         work_of(schedule, durations, stage);
}

/// Times that the zero-bubble formulas are for: W <= F and W <= B.
constexpr Ticks kSplitTimes[][3] = {{5, 5, 5},   {5, 6, 4},   {5, 7, 5},   {10, 12, 8},
                                    {10, 10, 7}, {10, 15, 5}, {12, 10, 9}, {7, 21, 1}};

TEST(ScheduleBubble, ZeroBubbleH1AndH2HaveThePublishedOnes) {
  for (const int stages : {1, 2, 3, 4, 5, 8, 12}) {
    for (const int microbatches : {2 * stages, 2 * stages + 1, 3 * stages, 5 * stages + 2}) {
      for (const auto& [f, b, w] : kSplitTimes) {
        SCOPED_TRACE(std::to_string(stages) + "x" + std::to_string(microbatches) + ", F " +
                     std::to_string(f) + ", B " + std::to_string(b) + ", W " + std::to_string(w));
        const Times times{{"forward", f}, {"backward", b}, {"weight", w}};
        const ScheduleShape shape{.stages = stages, .microbatches = microbatches};
        EXPECT_EQ(makespan("zb-h1", shape, times),
                  microbatches * (f + b + w) + (stages - 1) * (f + b - w));
        // H2's is what a stage waits between its first step and its last: stages begin and end one
        // behind the other.
        const auto h2 = make_schedule("zb-h2", shape);
        ASSERT_TRUE(h2);
        const auto durations = durations_of(*h2, times);
        const EarliestTimes earliest = run(*h2, durations);
        Ticks longest = 0;
        for (std::size_t stage = 0; stage < h2->stages.size(); ++stage) {
          longest = std::max(longest, bubble_within(*h2, durations, earliest, stage));
        }
        EXPECT_EQ(longest, (stages - 1) * (f + b - 2 * w));
      }
    }
  }
}

TEST(ScheduleBubble, ZeroBubbleH2AndVHaveNoneWithEqualTimesAndEnoughMicrobatches) {
  for (const int stages : {2, 3, 4, 8}) {
    for (const int microbatches : {2 * stages - 1, 2 * stages, 5 * stages}) {
      const ScheduleShape shape{.stages = stages, .microbatches = microbatches};
      for (const std::string_view name : {"zb-h2", "zb-v"}) {
        const auto schedule = make_schedule(name, shape);
        ASSERT_TRUE(schedule);
        const auto durations =
            durations_of(*schedule, {{"forward", 5}, {"backward", 5}, {"weight", 5}});
        const EarliestTimes times = run(*schedule, durations);
        for (std::size_t stage = 0; stage < schedule->stages.size(); ++stage) {
          EXPECT_EQ(bubble_within(*schedule, durations, times, stage), 0)
              << name << ' ' << stages << 'x' << microbatches << " stage " << stage;
        }
        // Stages begin and end one behind the other.
        EXPECT_EQ(times.makespan, microbatches * 15 * schedule->shape.chunks + (stages - 1) * 5);
      }
    }
  }
}

TEST(ScheduleBubble, DualPipeHasThePublishedOne) {
  // With F = W and B, the whole backward, of 2 W; overlapping saves something or nothing.
  for (const int stages : {2, 4, 6, 8, 16}) {
    for (const int microbatches : {2 * stages, 2 * stages + 2, 5 * stages}) {
      for (const Ticks both : {20, 24, 26, 29, 30}) {
        SCOPED_TRACE(std::to_string(stages) + "x" + std::to_string(microbatches) + ", F&B " +
                     std::to_string(both));
        const auto schedule =
            make_schedule("dualpipe", {.stages = stages, .microbatches = microbatches});
        ASSERT_TRUE(schedule);
        const auto durations = durations_of(*schedule, {{"forward", 10},
                                                        {"backward", 20},
                                                        {"backward-input", 10},
                                                        {"weight", 10},
                                                        {"forwardbackward", both}});
        const Ticks end = run(*schedule, durations).makespan;
        Ticks longest = 0;
        for (std::size_t stage = 0; stage < schedule->stages.size(); ++stage) {
          longest = std::max(longest, end - work_of(*schedule, durations, stage));
        }
        EXPECT_EQ(longest, (stages / 2 - 1) * (both + 20 - 3 * 10));
        if (both == 30) {
          EXPECT_EQ(end, microbatches * 30 + longest);
        }
      }
    }
  }
}

TEST(ScheduleBubble, ZeroBubbleHoldsNoMoreThanThePaperAllows) {
  for (int stages = 1; stages <= 9; ++stages) {
    for (int microbatches = 1; microbatches <= 4 * stages + 1; ++microbatches) {
      const auto most = [&](std::string_view name) {
        const auto schedule = make_schedule(name, {.stages = stages, .microbatches = microbatches});
        int held = 0;
        for (int stage = 0; stage < stages; ++stage) {
          held = std::max(held, most_in_flight(*schedule, stage));
        }
        return held;
      };
      const int of_1f1b = most("1f1b");
      EXPECT_EQ(of_1f1b, std::min(stages, microbatches));
      EXPECT_LE(most("zb-h1"), of_1f1b) << stages << 'x' << microbatches;
      EXPECT_LE(most("zb-h2"), 2 * of_1f1b) << stages << 'x' << microbatches;
      // Its parts are half as large.
      EXPECT_LE(most("zb-v"), 2 * of_1f1b) << stages << 'x' << microbatches;
    }
  }
}

TEST(ScheduleBubble, MemoryStaysWithinWhatEachPromises) {
  for (const int stages : {2, 4, 8}) {
    const int microbatches = 5 * stages;
    const auto of = [&](std::string_view name, int chunks = 1) {
      return *make_schedule(name,
                            {.stages = stages, .microbatches = microbatches, .chunks = chunks});
    };
    for (int stage = 0; stage < stages; ++stage) {
      EXPECT_EQ(most_in_flight(of("1f1b"), stage), stages - stage);
      EXPECT_EQ(most_in_flight(of("early-recompute"), stage), stages - stage);
      EXPECT_EQ(most_in_flight(of("gpipe"), stage), microbatches);
      EXPECT_EQ(most_in_flight(of("zb-h1"), stage), stages);
      EXPECT_EQ(most_in_flight(of("zb-h2"), stage), 2 * stages - 1);
      // Parts of half a stage: as much as 1F1B's first stage holds.
      EXPECT_EQ(most_in_flight(of("zb-v"), stage), 2 * stages);
      EXPECT_LE(most_in_flight(of("dualpipe"), stage), stages + 1);
      EXPECT_EQ(most_in_flight(of("interleaved", 3), stage),
                2 * (stages - stage - 1) + 2 * stages + 1);
    }
  }
}

}  // namespace
}  // namespace perjoule
