// The ground under the stand-in library: one session a process (that is what the vendor's interface
// is), handles, and the one road each exported call takes: initialised? handle valid? a fault due?
// then the answer, under the machine's lock.
//
// Each nvml_*.cc defines the exported functions of one topic. Names, argument order, units and
// return codes are the vendor's; nothing is exported but nvml* and perjoule_twin_*
// (nvml_exports.map).
#pragma once

#include <cstdint>

#include "device/nvml_abi.h"
#include "twin/control_block.h"
#include "twin/readings.h"
#include "twin/world.h"

#define PJ_NVML extern "C" __attribute__((visibility("default"))) perjoule::nvml::Return

namespace perjoule::twin::standin {

using nvml::Device;
using nvml::Return;

/// What an opaque handle points to.
struct Handle {
  int device = 0;
  int slice = -1;  ///< MIG instance, by its index; -1: the whole device
};

/// What a device call works on, with the lock held and time integrated to the millisecond.
struct Call {
  World& world;
  ControlBlock& block;
  DeviceBlock& device;
  Handle handle;

  bool is_slice() const { return handle.slice >= 0; }
  Readings read() const { return read_device(world.mapping(), device); }
  /// What a setter must ask first.
  Return may_set() const;
};

Return initialise();
Return shut_down();
/// Null before initialisation.
World* current_world();
Device handle_of(int device, int slice = -1);
/// The handle's content; null when it is none of ours.
const Handle* find_handle(Device device);

/// A fault due for this call: its code, after its delay (without the lock); kSuccess when there is
/// none.
Return strike(ControlBlock& block, ControlLock& lock, const char* call, int device);

/// A call without a device.
template <typename Body>
Return machine_call(const char* name, Body body) {
  World* const world = current_world();
  if (world == nullptr) return nvml::kUninitialized;
  ControlBlock& block = world->mapping().block();
  ControlLock lock(block);
  const Return struck = strike(block, lock, name, -1);
  return struck != nvml::kSuccess ? struck : body(*world, block);
}

/// A call on a device or MIG handle.
template <typename Body>
Return any_device_call(const char* name, Device device, Body body) {
  World* const world = current_world();
  if (world == nullptr) return nvml::kUninitialized;
  const Handle* const handle = find_handle(device);
  if (handle == nullptr) return nvml::kInvalidArgument;
  ControlBlock& block = world->mapping().block();
  ControlLock lock(block);
  const Return struck = strike(block, lock, name, handle->device);
  if (struck != nvml::kSuccess) return struck;
  return body(Call{*world, block, block.devices[handle->device], *handle});
}

/// A call that a MIG instance cannot answer, as power and clocks: only for whole devices.
template <typename Body>
Return device_call(const char* name, Device device, Body body) {
  return any_device_call(name, device, [&](const Call& call) {
    return call.is_slice() ? nvml::kNotSupported : body(call);
  });
}

/// Answers one number of a device.
template <typename Number, typename Body>
Return answer(const char* name, Device device, Number* into, Body body) {
  if (into == nullptr && current_world() != nullptr) return nvml::kInvalidArgument;
  return device_call(name, device, [&](const Call& call) {
    *into = static_cast<Number>(body(call));
    return nvml::kSuccess;
  });
}

/// Copies a text with its end; kInsufficientSize when it does not fit.
Return copy_text(const char* text, char* into, unsigned length);
/// The two-call protocol of lists: with no buffer, or one too small, the count and
/// kInsufficientSize.
Return copy_numbers(const unsigned* numbers, unsigned count, unsigned* capacity, unsigned* into);

/// A call this machine knows and does not support.
Return unsupported(const char* name, Device device);

unsigned milliwatts(double watts);

}  // namespace perjoule::twin::standin
