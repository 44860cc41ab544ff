#include "base/signals_kept.h"

#include <gtest/gtest.h>

#include <thread>

namespace perjoule {
namespace {

bool blocked(int signal) {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  return sigismember(&now, signal) == 1;
}

TEST(SignalsKept, FromThreadsThatAreStartedMeanwhileAlone) {
  bool in_thread = false;
  bool fault_in_thread = true;
  std::thread thread;
  {
    const SignalsKept kept;
    thread = std::thread([&] {
      in_thread = blocked(SIGTERM) && blocked(SIGINT) && blocked(SIGHUP);
      fault_in_thread = blocked(SIGSEGV);
    });
  }
  thread.join();
  EXPECT_TRUE(in_thread);
  EXPECT_FALSE(fault_in_thread);
  EXPECT_FALSE(blocked(SIGTERM));
}

}  // namespace
}  // namespace perjoule
