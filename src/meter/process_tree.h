// A program and everything below it, to be ended as a whole: its children, theirs, and those that
// took a session of their own or whose parent has gone.
//
//   ProcessTree tree = ProcessTree::adopt();      // before the program is started
//   PJ_TRY(ChildProcess child, ChildProcess::start(...));
//   tree.signal(SIGTERM);
//   while (!tree.running().empty()) ...           // after a while: tree.signal(SIGKILL)
//
// While it lives, this process is a "child subreaper" (prctl(2)): a descendant whose parent ends
// becomes our child and not init's, so that all of them can be found by their parents in /proc.
// Nothing of the program's own is changed, neither its group nor its session, and job control works
// as without us. What cannot be reached: processes that another program starts on the tree's behalf
// (a container engine, a job scheduler), and those of another user.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace perjoule {

class ProcessTree {
 public:
  /// From now on descendants are adopted. Children that this process already has do not belong.
  static ProcessTree adopt();
  ProcessTree(ProcessTree&& other) noexcept;
  ProcessTree& operator=(ProcessTree&&) = delete;
  ~ProcessTree();

  /// Sends the signal to all that run. A request (any but SIGKILL) reaches each process once,
  /// however often it is sent, and wakes those that are stopped. False when no process was found.
  bool signal(int number);
  /// The processes that have not ended.
  std::vector<std::int64_t> running() const;
  /// Takes note of adopted processes that have ended, all but `child`, whose status is another's to
  /// read; without this they would stay as zombies.
  void reap(pid_t child) const;

 private:
  /// A pid, and the start time that tells it from a later process of the same pid.
  using Member = std::pair<std::int64_t, std::uint64_t>;

  ProcessTree() = default;
  std::vector<Member> members() const;

  bool was_subreaper_ = false;
  bool active_ = false;
  std::set<std::int64_t> others_;  ///< children this process had before
  std::set<Member> asked_;
};

}  // namespace perjoule
