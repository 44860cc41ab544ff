#include "meter/sync.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace perjoule {
namespace {

struct Runtime {
  const char* synchronise;  ///< int f(void), 0 for success
  const char* query;        ///< int f(stream), for the default stream
  int not_ready;            ///< its answer while work is queued
};

/// cudaErrorNotReady and hipErrorNotReady share a number with the driver's.
constexpr Runtime kRuntimes[] = {
    {"cudaDeviceSynchronize", "cudaStreamQuery", 600},
    {"hipDeviceSynchronize", "hipStreamQuery", 600},
    {"cuCtxSynchronize", "cuStreamQuery", 600},
};

template <typename Function>
Function* find(const char* symbol) noexcept {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, symbol));
}

}  // namespace

SyncCallback find_device_sync() {
  for (const Runtime& runtime : kRuntimes) {
    auto* synchronise = find<int()>(runtime.synchronise);
    if (synchronise == nullptr) continue;
    return [synchronise, name = runtime.synchronise]() -> Outcome {
      if (const int code = synchronise(); code != 0) {
        return Error::unavailable(fmt::format("{} failed with code {}", name, code));
      }
      return {};
    };
  }
  return {};
}

std::optional<bool> device_work_queued() noexcept {
  for (const Runtime& runtime : kRuntimes) {
    if (auto* query = find<int(void*)>(runtime.query)) return query(nullptr) == runtime.not_ready;
  }
  return std::nullopt;
}

}  // namespace perjoule
