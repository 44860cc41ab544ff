#include "net/event_loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

namespace perjoule {
namespace {

struct Pair {
  Pair() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    ours = FileDescriptor(ends[0]);
    theirs = FileDescriptor(ends[1]);
  }
  FileDescriptor ours;
  FileDescriptor theirs;
};

class Told final : public FdWatcher {
 public:
  explicit Told(std::function<void(std::uint32_t)> call) : call_(std::move(call)) {}
  void ready(std::uint32_t events) override { call_(events); }

 private:
  std::function<void(std::uint32_t)> call_;
};

std::unique_ptr<EventLoop> loop_on(const Clock& clock) {
  auto loop = EventLoop::create(clock);
  EXPECT_TRUE(loop) << loop.error().text();
  return std::move(*loop);
}

TEST(EventLoop, TellsOfADescriptorUntilItIsRead) {
  const RealClock clock;
  const auto loop = loop_on(clock);
  const Pair pair;
  int told = 0;
  Told watcher([&](std::uint32_t events) {
    EXPECT_EQ(events, EPOLLIN);
    char byte = 0;
    EXPECT_EQ(::read(pair.ours.get(), &byte, 1), 1);
    if (++told == 3) loop->stop();
  });
  ASSERT_TRUE(loop->watch(pair.ours.get(), EPOLLIN, watcher));
  ASSERT_EQ(::write(pair.theirs.get(), "abc", 3), 3);
  loop->run();
  EXPECT_EQ(told, 3);
  loop->turn(false);
  EXPECT_EQ(told, 3);
}

TEST(EventLoop, EventsMayChange) {
  const RealClock clock;
  const auto loop = loop_on(clock);
  const Pair pair;
  std::uint32_t seen = 0;
  Told watcher([&](std::uint32_t events) { seen = events; });
  ASSERT_TRUE(loop->watch(pair.ours.get(), EPOLLIN, watcher));
  loop->turn(false);
  EXPECT_EQ(seen, 0U);
  ASSERT_TRUE(loop->change(pair.ours.get(), EPOLLIN | EPOLLOUT));
  loop->turn(false);
  EXPECT_EQ(seen, EPOLLOUT);
}

TEST(EventLoop, WrongDescriptorsAreErrors) {
  const RealClock clock;
  const auto loop = loop_on(clock);
  const Pair pair;
  Told watcher([](std::uint32_t) {});
  EXPECT_EQ(loop->watch(-1, EPOLLIN, watcher).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(loop->change(pair.ours.get(), EPOLLIN).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(loop->watch(pair.ours.get(), EPOLLIN, watcher));
  EXPECT_EQ(loop->watch(pair.ours.get(), EPOLLIN, watcher).error().code, ErrorCode::kConflict);
  loop->forget(pair.ours.get());
  loop->forget(pair.ours.get());
  EXPECT_TRUE(loop->watch(pair.ours.get(), EPOLLIN, watcher));
}

TEST(EventLoop, AForgottenDescriptorIsNotTold) {
  // Both are ready in one turn: whoever is told first forgets the other.
  const RealClock clock;
  const auto loop = loop_on(clock);
  Pair one;
  Pair two;
  int told = 0;
  Told successor([&](std::uint32_t) { ADD_FAILURE() << "an event of the one before"; });
  Told watcher([&](std::uint32_t) {
    ++told;
    loop->forget(one.ours.get());
    loop->forget(two.ours.get());
    // The same numbers, watched anew, have nothing to do with the events that are known.
    EXPECT_TRUE(loop->watch(one.ours.get(), EPOLLPRI, successor));
    EXPECT_TRUE(loop->watch(two.ours.get(), EPOLLPRI, successor));
  });
  ASSERT_TRUE(loop->watch(one.ours.get(), EPOLLIN, watcher));
  ASSERT_TRUE(loop->watch(two.ours.get(), EPOLLIN, watcher));
  ASSERT_EQ(::write(one.theirs.get(), "a", 1), 1);
  ASSERT_EQ(::write(two.theirs.get(), "a", 1), 1);
  loop->turn();
  EXPECT_EQ(told, 1);
}

TEST(EventLoop, AnEndedConnectionIsTold) {
  const RealClock clock;
  const auto loop = loop_on(clock);
  Pair pair;
  std::uint32_t seen = 0;
  Told watcher([&](std::uint32_t events) { seen = events; });
  ASSERT_TRUE(loop->watch(pair.ours.get(), EPOLLIN, watcher));
  pair.theirs.reset();
  loop->turn();
  EXPECT_NE(seen & EPOLLHUP, 0U);
}

TEST(EventLoop, TimersComeInOrderAndOnce) {
  VirtualClock clock(Instant{1'000'000'000});
  const auto loop = loop_on(clock);
  std::string calls;
  loop->call_at(clock.now() + Seconds(2), [&] { calls += 'c'; });
  loop->call_at(clock.now() + Seconds(1), [&] { calls += 'a'; });
  loop->call_at(clock.now() + Seconds(1), [&] { calls += 'b'; });
  loop->turn(false);
  EXPECT_EQ(calls, "");
  clock.advance(Seconds(1));
  loop->turn(false);
  EXPECT_EQ(calls, "ab");
  clock.advance(Seconds(5));
  loop->turn(false);
  loop->turn(false);
  EXPECT_EQ(calls, "abc");
  EXPECT_EQ(loop->timers(), 0U);
}

TEST(EventLoop, ATimerMaySetAndCancelOthers) {
  VirtualClock clock(Instant{1'000'000'000});
  const auto loop = loop_on(clock);
  int calls = 0;
  EventLoop::TimerId other = 0;
  std::function<void()> again = [&] {
    ++calls;
    loop->cancel(other);
    loop->call_at(clock.now(), again);
  };
  loop->call_at(clock.now(), again);
  other = loop->call_at(clock.now() + Seconds(1), [] { FAIL() << "it was cancelled"; });
  loop->turn(false);
  EXPECT_EQ(calls, 1) << "what is set meanwhile waits for the next turn";
  clock.advance(Seconds(2));
  loop->turn(false);
  EXPECT_EQ(calls, 2);
}

TEST(EventLoop, CancelledTimersLeaveNothing) {
  VirtualClock clock(Instant{1'000'000'000});
  const auto loop = loop_on(clock);
  int calls = 0;
  std::vector<EventLoop::TimerId> timers;
  for (int i = 0; i < 10'000; ++i)
    timers.push_back(loop->call_at(clock.now() + Seconds(10'000 - i), [&] { ++calls; }));
  for (std::size_t i = 0; i < timers.size(); ++i) {
    if (i % 100 != 0) loop->cancel(timers[i]);
  }
  EXPECT_EQ(loop->timers(), 100U);
  loop->cancel(0);
  loop->cancel(timers[1]);
  clock.advance(Seconds(20'000));
  loop->turn(false);
  EXPECT_EQ(calls, 100);
}

TEST(EventLoop, WaitsForARealTimer) {
  const RealClock clock;
  const auto loop = loop_on(clock);
  const Instant when = clock.now() + Seconds(0.01);
  Instant called;
  loop->call_at(when, [&] {
    called = clock.now();
    loop->stop();
  });
  loop->run();
  EXPECT_GE(called, when);
}

TEST(EventLoop, OtherThreadsWakeIt) {
  const RealClock clock;
  const auto loop = loop_on(clock);
  std::string calls;
  const std::thread::id own = std::this_thread::get_id();
  std::jthread other([&] {
    for (const char name : std::string("abc")) {
      loop->post([&calls, own, name] {
        EXPECT_EQ(std::this_thread::get_id(), own);
        calls += name;
      });
    }
    loop->post([&] { loop->stop(); });
  });
  loop->run();
  EXPECT_EQ(calls, "abc");
}

TEST(EventLoop, AStopBeforeTheStartCounts) {
  const RealClock clock;
  const auto loop = loop_on(clock);
  loop->stop();
  loop->run();
  std::jthread other([&] { loop->stop(); });
  loop->run();
}

}  // namespace
}  // namespace perjoule
