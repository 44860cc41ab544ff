#include "api/guard.h"

namespace perjoule {

std::string& last_error() noexcept {
  static thread_local std::string text;
  return text;
}

pj_status settle(const Outcome& outcome) noexcept {
  // The codes are numbered alike on both sides.
  static_assert(static_cast<int>(ErrorCode::kInvalidArgument) == PJ_INVALID_ARGUMENT);
  static_assert(static_cast<int>(ErrorCode::kInternal) == PJ_INTERNAL);
  try {
    last_error() = outcome ? std::string() : outcome.error().text();
  } catch (...) {
    last_error().clear();  // no memory for the words; the status still stands
  }
  return outcome ? PJ_OK : static_cast<pj_status>(outcome.error().code);
}

}  // namespace perjoule
