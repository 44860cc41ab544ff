#include "pipeline/runtime/knob_thread.h"

#include <algorithm>

#include "base/signals_kept.h"

namespace perjoule {

KnobThread::KnobThread(KnobJournal journal) : journal_(std::move(journal)) {
  const SignalsKept kept;
  thread_ = std::thread([this] { run(); });
}

KnobThread::~KnobThread() { (void)finish(); }

void KnobThread::want(const KnobValues* values) {
  {
    const std::lock_guard lock(mutex_);
    wanted_ = values;
  }
  changed_.notify_all();
}

void KnobThread::settle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return (wanted_ == nullptr && !busy_) || ending_ || failure_; });
}

std::optional<Error> KnobThread::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::int64_t KnobThread::turns() const {
  const std::lock_guard lock(mutex_);
  return turns_;
}

std::vector<std::string> KnobThread::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

Outcome KnobThread::finish() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  return journal_.restore();
}

void KnobThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || wanted_ != nullptr; });
    if (ending_) return;
    // A copy: the wish may be freed once another one is there.
    const KnobValues values = *std::exchange(wanted_, nullptr);
    if (failure_) continue;
    busy_ = true;
    lock.unlock();
    obey(values);
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void KnobThread::obey(const KnobValues& values) {
  for (const auto& [knob, value] : values) {
    const auto known =
        std::find_if(in_force_.begin(), in_force_.end(),
                     [wanted = knob](const auto& one) { return one.first == wanted; });
    if (known != in_force_.end() && known->second == value) continue;
    const Result<std::string> turned = journal_.turn(*knob, value);
    const std::lock_guard lock(mutex_);
    if (!turned) {
      failure_ = turned.error();
      break;
    }
    ++turns_;
    if (known == in_force_.end()) {
      in_force_.emplace_back(knob, value);
    } else {
      known->second = value;
    }
    if (*turned == value) continue;
    std::string note = knob->info().id + ": " + value + " asked, " + *turned + " in force";
    if (std::find(notes_.begin(), notes_.end(), note) == notes_.end())
      notes_.push_back(std::move(note));
  }
  // A GPU that takes one clock and refuses another would keep that one for good.
  if (failure()) (void)journal_.restore();
}

}  // namespace perjoule
