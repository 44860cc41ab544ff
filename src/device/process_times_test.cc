#include "device/process_times.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace perjoule {
namespace {

std::string stat(int pid, const char* name, int parent, int user, int system, int children,
                 char state = 'S', int threads = 1) {
  return std::to_string(pid) + " (" + name + ") " + state + " " + std::to_string(parent) +
         " 1 1 0 -1 0 0 0 0 0 " + std::to_string(user) + " " + std::to_string(system) + " " +
         std::to_string(children) + " 0 20 0 " + std::to_string(threads) + " 0 12345 0 0\n";
}

TEST(ProcessTimes, NamesMayHoldAnything) {
  const auto process = parse_process_stat(stat(42, "a) (b c", 1, 100, 50, 25));
  ASSERT_TRUE(process) << process.error().text();
  const double hertz = static_cast<double>(::sysconf(_SC_CLK_TCK));
  EXPECT_EQ(process->pid, 42);
  EXPECT_EQ(process->name, "a) (b c");
  EXPECT_DOUBLE_EQ(process->cpu.value(), 150 / hertz);
  EXPECT_DOUBLE_EQ(process->cpu_of_children.value(), 25 / hertz);
  EXPECT_EQ(process->start_ticks, 12345U);
  for (const char* bad : {"", "1", "1 (x", "1 (x)", "1 (x) S 1 2 3", "x (y) S"})
    EXPECT_FALSE(parse_process_stat(bad)) << bad;
}

TEST(ProcessTimes, AProcessLivesAsLongAsAnyOfItsThreads) {
  const auto ended = [](char state, int threads) {
    return parse_process_stat(stat(42, "node", 1, 0, 0, 0, state, threads)).value().ended();
  };
  EXPECT_FALSE(ended('S', 1));
  EXPECT_FALSE(ended('Z', 3)) << "its first thread has ended, and others hold its sockets";
  EXPECT_TRUE(ended('Z', 1));
  EXPECT_TRUE(ended('X', 1));
}

TEST(ProcessTimes, ATreeIsItsRootAndAllBelow) {
  std::vector<ProcessTimes> processes(5);
  for (int i = 0; i < 5; ++i) {
    processes[static_cast<std::size_t>(i)].pid = 10 + i;
    processes[static_cast<std::size_t>(i)].cpu = Seconds(1);
  }
  processes[1].parent = 10;
  processes[2].parent = 11;
  processes[3].parent = 1;
  processes[4].parent = 14;  // its own parent: must not loop
  EXPECT_DOUBLE_EQ(tree_cpu_time(processes, 10).value(), 3);
  EXPECT_DOUBLE_EQ(tree_cpu_time(processes, 14).value(), 2);
  EXPECT_DOUBLE_EQ(tree_cpu_time(processes, 99).value(), 0);
}

TEST(ProcessTimes, ThisProcessIsListed) {
  bool found = false;
  for (const ProcessTimes& process : list_process_times("/proc"))
    found |= process.pid == ::getpid();
  EXPECT_TRUE(found);
}
}  // namespace
}  // namespace perjoule
