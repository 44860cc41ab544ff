// What the files of the C interface share: structs of any version, and the session behind a handle.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "api/session.h"
#include "base/result.h"
#include "meter/sync.h"
#include "perjoule/perjoule.h"

struct pj_session {
  std::unique_ptr<perjoule::Session> session;
};

namespace perjoule::c_abi {

inline tl::unexpected<Error> size_missing() {
  return Error::invalid_argument("struct_size is not set",
                                 "set it to sizeof the struct before the call");
}

/// Copies what the caller's struct has room for: an older caller's is shorter, a newer one's
/// longer.
template <typename Struct>
Outcome give(Struct full, Struct* target) {
  if (target == nullptr) return Error::invalid_argument("the struct to fill is null");
  const std::size_t size = target->struct_size;
  if (size < 2 * sizeof(std::size_t)) return size_missing();
  full.struct_size = size;
  std::memcpy(static_cast<void*>(target), &full, std::min(size, sizeof(Struct)));
  return {};
}

/// The caller's options over defaults of zero.
template <typename Struct>
Result<Struct> taken(const Struct* options) {
  Struct full{};
  if (options == nullptr) return full;
  if (options->struct_size < 2 * sizeof(std::size_t)) return size_missing();
  std::memcpy(static_cast<void*>(&full), options, std::min(options->struct_size, sizeof(Struct)));
  return full;
}

inline Outcome need(const void* pointer, const char* what) {
  if (pointer == nullptr) return Error::invalid_argument(std::string(what) + " is null");
  return {};
}

/// How to wait for asynchronous work: of a struct with the members sync, callback and user.
template <typename Struct>
Result<SyncCallback> sync_of(const Struct& options) {
  switch (options.sync) {
    case PJ_SYNC_AUTO:
      return find_device_sync();
    case PJ_SYNC_NONE:
      return SyncCallback();
    case PJ_SYNC_CALLBACK:
      break;
    default:
      return Error::invalid_argument(
          "sync is none of PJ_SYNC_AUTO, PJ_SYNC_NONE, PJ_SYNC_CALLBACK");
  }
  if (options.callback == nullptr)
    return Error::invalid_argument("PJ_SYNC_CALLBACK without a callback");
  return SyncCallback([callback = options.callback, user = options.user]() -> Outcome {
    if (callback(user) != 0) return Error::unavailable("the synchronise callback failed");
    return {};
  });
}

}  // namespace perjoule::c_abi
