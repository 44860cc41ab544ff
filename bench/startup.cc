// How long `perjoule --version` takes: what every call of the command pays before it does anything.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "figure.h"

namespace pb = perjoule::bench;

namespace {

struct Start {
  double wall = 0;
  double user = 0;
  double system = 0;
};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

Start start_once(const char* program, const char* argument) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  std::string path = program;
  std::string word = argument;
  char* const words[] = {path.data(), word.data(), nullptr};
  char* const none[] = {nullptr};
  const perjoule::RealClock clock;
  const perjoule::Instant before = clock.now();
  pid_t pid = 0;
  if (::posix_spawn(&pid, program, &actions, nullptr, words, none) != 0)
    pb::must(perjoule::Error::not_found(path + ": cannot be started"));
  int status = 0;
  rusage usage{};
  ::wait4(pid, &status, 0, &usage);
  const Start start{(clock.now() - before).value(), seconds(usage.ru_utime),
                    seconds(usage.ru_stime)};
  ::posix_spawn_file_actions_destroy(&actions);
  if (status != 0) pb::must(perjoule::Error::internal(path + " failed"));
  return start;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Median of each time over as many starts.
Start median_start(const char* program, const char* argument) {
  constexpr int kStarts = 20;
  std::vector<double> wall;
  std::vector<double> user;
  std::vector<double> system;
  for (int i = 0; i < kStarts; ++i) {
    const Start start = start_once(program, argument);
    wall.push_back(start.wall);
    user.push_back(start.user);
    system.push_back(start.system);
  }
  return {median(wall), median(user), median(system)};
}

/// The median of the least disturbed of several rounds: others use this machine too.
Start best_median(const char* program, const char* argument) {
  constexpr int kRounds = 7;
  Start best = median_start(program, argument);
  for (int round = 1; round < kRounds; ++round) {
    const Start start = median_start(program, argument);
    if (start.wall < best.wall) best = start;
  }
  return best;
}

}  // namespace

int main() {
  const Start ours = best_median(PERJOULE_COMMAND, "--version");
  const Start nothing = best_median("/bin/true", "");
  pb::print({.figure = "startup",
             .value = ours.wall * 1e3,
             .unit = "ms",
             .bar = "<= 10",
             .pass = ours.wall <= 10e-3,
             .detail = fmt::format(
                 "least of 7 medians of 20 starts, wall; user {:.1f} ms, system {:.1f} ms; "
                 "/bin/true here: {:.1f} ms",
                 ours.user * 1e3, ours.system * 1e3, nothing.wall * 1e3)});
}
