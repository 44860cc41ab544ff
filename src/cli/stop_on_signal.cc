#include "cli/stop_on_signal.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

namespace perjoule::cli {

Result<std::unique_ptr<StopOnSignal>> StopOnSignal::start() {
  PJ_TRY(SignalWatch watch, SignalWatch::start());
  std::unique_ptr<StopOnSignal> one(new StopOnSignal(std::move(watch)));
  one->wake_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC));
  if (!one->wake_.valid()) return Error::from_errno(errno, "making an eventfd");
  one->thread_ = std::jthread([raw = one.get()](const std::stop_token& stop) { raw->loop(stop); });
  return one;
}

StopOnSignal::~StopOnSignal() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof(one));
}

void StopOnSignal::loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::array<pollfd, 2> watched{{{watch_.fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), -1);
    while (const auto arrived = watch_.next()) {
      if (arrived->signal == SIGUSR1 || arrived->signal == SIGUSR2) continue;
      int none = 0;
      signal_.compare_exchange_strong(none, arrived->signal);
      source_.request_stop();
    }
  }
}

}  // namespace perjoule::cli
