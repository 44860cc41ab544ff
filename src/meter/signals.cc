#include "meter/signals.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace perjoule {

Result<SignalWatch> SignalWatch::start() {
  SignalWatch watch;
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2})
    sigaddset(&wanted, signal);
  if (const int number = pthread_sigmask(SIG_BLOCK, &wanted, &watch.before_); number != 0) {
    return Error::from_errno(number, "blocking signals");
  }
  watch.active_ = true;
  watch.fd_ = FileDescriptor(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!watch.fd_.valid()) return Error::from_errno(errno, "watching signals");
  return watch;
}

SignalWatch::SignalWatch(SignalWatch&& other) noexcept
    : fd_(std::move(other.fd_)),
      before_(other.before_),
      active_(std::exchange(other.active_, false)) {}

SignalWatch::~SignalWatch() {
  if (active_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<SignalWatch::Arrived> SignalWatch::next() const {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  return Arrived{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

}  // namespace perjoule
