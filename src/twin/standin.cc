#include "twin/standin.h"

#include <unistd.h>

#include <atomic>

#include "twin/nvml_session.h"

#define PJ_TWIN extern "C" __attribute__((visibility("default"))) int

namespace nvml = perjoule::nvml;
using perjoule::twin::World;
using perjoule::twin::standin::current_world;
using perjoule::twin::standin::initialise;

namespace {

std::atomic<bool> holds_devices{false};

// A workload need not know NVML: the first of these calls initialises.
World* world_of_workload() {
  if (current_world() == nullptr && initialise() != nvml::kSuccess) return nullptr;
  holds_devices = true;
  return current_world();
}

// A workload's context ends with its process, also where it has shut the library down.
__attribute__((destructor)) void let_go() {
  if (!holds_devices) return;
  auto world = World::open_from_environment();
  if (!world) return;
  for (int i = 0; i < world->device_count(); ++i)
    (void)world->detach(i, static_cast<int>(::getpid()));
}

int code_of(const perjoule::Outcome& outcome) {
  if (outcome) return nvml::kSuccess;
  switch (outcome.error().code) {
    case perjoule::ErrorCode::kNotFound:
      return nvml::kNotFound;
    case perjoule::ErrorCode::kUnavailable:
      return nvml::kInUse;
    default:
      return nvml::kInvalidArgument;
  }
}

}  // namespace

PJ_TWIN perjoule_twin_post(unsigned device_index, const perjoule_twin_phase* phase,
                           unsigned long long* ticket) {
  World* const world = world_of_workload();
  if (world == nullptr) return nvml::kDriverNotLoaded;
  if (phase == nullptr || ticket == nullptr) return nvml::kInvalidArgument;
  const auto posted =
      world->begin_phase(static_cast<int>(device_index), {.flop = phase->flop,
                                                          .bytes = phase->bytes,
                                                          .activity = phase->activity,
                                                          .dram_share = phase->dram_share,
                                                          .link_share = phase->link_share,
                                                          .host_s = phase->host_s,
                                                          .pace_s = phase->pace_s});
  if (!posted) return code_of(perjoule::fail(posted));
  *ticket = *posted;
  return nvml::kSuccess;
}

PJ_TWIN perjoule_twin_wait(unsigned device_index, unsigned long long ticket) {
  World* const world = world_of_workload();
  if (world == nullptr) return nvml::kDriverNotLoaded;
  return code_of(world->wait(static_cast<int>(device_index), ticket));
}

PJ_TWIN perjoule_twin_run(unsigned device_index, double flop, double bytes, double activity) {
  const perjoule_twin_phase phase = {flop, bytes, activity, -1, 0, 0, 0};
  unsigned long long ticket = 0;
  const int posted = perjoule_twin_post(device_index, &phase, &ticket);
  return posted != nvml::kSuccess ? posted : perjoule_twin_wait(device_index, ticket);
}

PJ_TWIN perjoule_twin_idle(unsigned device_index) {
  World* const world = world_of_workload();
  if (world == nullptr) return nvml::kDriverNotLoaded;
  return code_of(world->end_phase(static_cast<int>(device_index)));
}

PJ_TWIN perjoule_twin_now(double* seconds) {
  World* const world = world_of_workload();
  if (world == nullptr) return nvml::kDriverNotLoaded;
  if (seconds == nullptr) return nvml::kInvalidArgument;
  *seconds = world->now().value();
  return nvml::kSuccess;
}
