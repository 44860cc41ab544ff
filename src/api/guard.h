// The one place where C++ ends: turns results and exceptions into a status and this thread's last
// error.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "base/result.h"
#include "perjoule/perjoule.h"

namespace perjoule {

/// What pj_last_error() answers in this thread.
std::string& last_error() noexcept;

/// PJ_OK, or the status of the error, whose text is kept.
pj_status settle(const Outcome& outcome) noexcept;

/// Runs `body`, a function answering an Outcome; nothing it throws gets out.
template <typename Body>
pj_status guard(const Body& body) noexcept {
  try {
    return settle(body());
  } catch (const std::bad_alloc&) {
    return settle(Error::internal("out of memory"));
  } catch (const std::exception& error) {
    return settle(Error::internal(error.what()));
  } catch (...) {
    return settle(Error::internal("an unknown exception"));
  }
}

}  // namespace perjoule
