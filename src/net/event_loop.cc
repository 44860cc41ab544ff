#include "net/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace perjoule {
namespace {

/// Between two looks at the timers: with thousands of streams ready a request must not be sent late
/// because all of them were read first.
constexpr int kEventsATurn = 256;

constexpr std::uint64_t key_of(int fd, std::uint32_t generation) {
  return std::uint64_t{generation} << 32U | static_cast<std::uint32_t>(fd);
}

void empty(const FileDescriptor& counter) {
  std::uint64_t count = 0;
  (void)!::read(counter.get(), &count, sizeof(count));
}

}  // namespace

Result<std::unique_ptr<EventLoop>> EventLoop::create(const Clock& clock) {
  std::unique_ptr<EventLoop> loop(new EventLoop(clock));
  PJ_CHECK(loop->open());
  return loop;
}

Outcome EventLoop::open() {
  epoll_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return Error::from_errno(errno, "making an epoll instance");
  wake_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.valid()) return Error::from_errno(errno, "making an event");
  timer_ = FileDescriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer_.valid()) return Error::from_errno(errno, "making a timer");
  for (const FileDescriptor* own : {&wake_, &timer_}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = key_of(own->get(), 0);
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, own->get(), &event) != 0)
      return Error::from_errno(errno, "waiting for an event");
  }
  return {};
}

Outcome EventLoop::watch(int fd, std::uint32_t events, FdWatcher& watcher) {
  if (fd < 0) return Error::invalid_argument("no descriptor to watch");
  const auto index = static_cast<std::size_t>(fd);
  if (index >= slots_.size()) slots_.resize(index + 1);
  Slot& slot = slots_[index];
  if (slot.watcher != nullptr)
    return Error::conflict("the descriptor is watched already: " + std::to_string(fd));
  epoll_event event{};
  event.events = events;
  event.data.u64 = key_of(fd, slot.generation);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    return Error::from_errno(errno, "watching descriptor " + std::to_string(fd));
  slot.watcher = &watcher;
  return {};
}

Outcome EventLoop::change(int fd, std::uint32_t events) {
  const auto index = static_cast<std::size_t>(fd);
  if (fd < 0 || index >= slots_.size() || slots_[index].watcher == nullptr)
    return Error::not_found("the descriptor is not watched: " + std::to_string(fd));
  epoll_event event{};
  event.events = events;
  event.data.u64 = key_of(fd, slots_[index].generation);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0)
    return Error::from_errno(errno, "watching descriptor " + std::to_string(fd));
  return {};
}

void EventLoop::forget(int fd) {
  const auto index = static_cast<std::size_t>(fd);
  if (fd < 0 || index >= slots_.size() || slots_[index].watcher == nullptr) return;
  slots_[index].watcher = nullptr;
  ++slots_[index].generation;
  epoll_event none{};  // kernels before 2.6.9 want one
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, &none);
}

EventLoop::TimerId EventLoop::call_at(Instant when, Call call) {
  const TimerId id = ++last_timer_;
  calls_.emplace(id, std::move(call));
  heap_.push_back({when, id});
  std::push_heap(heap_.begin(), heap_.end());
  return id;
}

void EventLoop::cancel(TimerId timer) {
  calls_.erase(timer);
  drop_cancelled();
}

void EventLoop::drop_cancelled() {
  constexpr std::size_t kFew = 64;
  if (heap_.size() > kFew && heap_.size() > 2 * calls_.size()) {
    std::erase_if(heap_, [this](const Timer& timer) { return !calls_.contains(timer.id); });
    std::make_heap(heap_.begin(), heap_.end());
  }
  while (!heap_.empty() && !calls_.contains(heap_.front().id)) {
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
  }
}

void EventLoop::post(Call call) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(call));
  }
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof(one));
}

void EventLoop::stop() {
  stopped_ = true;
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof(one));
}

void EventLoop::run() {
  while (!stopped_) turn();
  stopped_ = false;
}

void EventLoop::turn(bool may_wait) {
  call_watchers(may_wait);
  call_timers();
}

void EventLoop::call_watchers(bool may_wait) {
  set_timerfd();
  std::array<epoll_event, kEventsATurn> events;  // NOLINT: filled by the kernel
  const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsATurn, may_wait ? -1 : 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (i + 1 < count) fetch_watcher(events[static_cast<std::size_t>(i) + 1].data.u64);
    const auto fd = static_cast<std::uint32_t>(event.data.u64);
    if (static_cast<int>(fd) == wake_.get()) {
      empty(wake_);
      call_posted();
    } else if (static_cast<int>(fd) == timer_.get()) {
      empty(timer_);
      armed_ = {};
    } else if (fd < slots_.size() && slots_[fd].watcher != nullptr &&
               slots_[fd].generation == event.data.u64 >> 32U) {
      slots_[fd].watcher->ready(event.events);
    }
  }
}

/// With thousands of streams each is out of the cache by its next turn: it comes back while another
/// is read.
void EventLoop::fetch_watcher(std::uint64_t key) const {
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kLines = 5;
  const auto fd = static_cast<std::uint32_t>(key);
  if (fd >= slots_.size() || slots_[fd].watcher == nullptr) return;
  const auto* bytes = reinterpret_cast<const char*>(slots_[fd].watcher);
  for (std::size_t i = 0; i < kLines; ++i) __builtin_prefetch(bytes + i * kLine);
}

void EventLoop::call_posted() {
  std::vector<Call> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(posted_);
  }
  for (const Call& call : calls) call();
}

void EventLoop::call_timers() {
  if (heap_.empty()) return;
  const Instant now = clock_.now();
  // Those that are set meanwhile wait for the next turn, so that one that sets itself again cannot
  // keep the descriptors waiting.
  const TimerId last = last_timer_;
  while (!heap_.empty() && heap_.front().when <= now && heap_.front().id <= last) {
    const auto found = calls_.find(heap_.front().id);
    const Call call = std::move(found->second);
    calls_.erase(found);
    drop_cancelled();
    call();
  }
}

void EventLoop::set_timerfd() {
  const Instant wanted =
      heap_.empty() ? Instant{} : Instant{std::max<std::int64_t>(1, heap_.front().when.ns)};
  if (wanted == armed_) return;
  constexpr std::int64_t kSecond = 1'000'000'000;
  itimerspec spec{};
  spec.it_value = {static_cast<time_t>(wanted.ns / kSecond),
                   static_cast<long>(wanted.ns % kSecond)};
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
  armed_ = wanted;
}

}  // namespace perjoule
