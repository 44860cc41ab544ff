#include "process_start.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/clock.h"
#include "figure.h"

namespace perjoule::bench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

Start start_once(std::vector<std::string> words) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  char* const none[] = {nullptr};
  const RealClock clock;
  const Instant before = clock.now();
  pid_t pid = 0;
  if (::posix_spawn(&pid, pointers.front(), &actions, nullptr, pointers.data(), none) != 0)
    must(Outcome(Error::not_found(words.front() + ": cannot be started")));
  int status = 0;
  rusage usage{};
  ::wait4(pid, &status, 0, &usage);
  const Start start{(clock.now() - before).value(), seconds(usage.ru_utime),
                    seconds(usage.ru_stime)};
  ::posix_spawn_file_actions_destroy(&actions);
  if (status != 0) must(Outcome(Error::internal(words.front() + " failed")));
  return start;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Median of each time.
Start median_start(const std::vector<std::string>& program, int starts) {
  std::vector<double> wall;
  std::vector<double> user;
  std::vector<double> system;
  for (int i = 0; i < starts; ++i) {
    const Start start = start_once(program);
    wall.push_back(start.wall);
    user.push_back(start.user);
    system.push_back(start.system);
  }
  return {median(wall), median(user), median(system)};
}

}  // namespace

Start best_median(const std::vector<std::string>& words, int starts, int rounds) {
  Start best = median_start(words, starts);
  for (int round = 1; round < rounds; ++round) {
    const Start start = median_start(words, starts);
    if (start.wall < best.wall) best = start;
  }
  return best;
}

}  // namespace perjoule::bench
