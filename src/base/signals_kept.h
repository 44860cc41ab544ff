// Keeps signals from threads that are started meanwhile.
//
//   const SignalsKept kept;
//   thread_ = std::thread(...);
//
// Signals are the program's own threads' to take. One that reached a thread of ours would run a
// handler there that expects another, or end the program before whoever watches for it knows.
#pragma once

#include <pthread.h>

#include <csignal>

namespace perjoule {

class SignalsKept {
 public:
  SignalsKept() {
    sigset_t all;
    sigfillset(&all);
    // A fault is of the thread that makes it: blocked, it would end the program without its
    // handler.
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT})
      sigdelset(&all, fault);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsKept() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsKept(const SignalsKept&) = delete;
  SignalsKept& operator=(const SignalsKept&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace perjoule
