// The part of NVIDIA's NVML C interface that we use, written from its documented layout so that
// neither the vendor's header nor its library is needed to build. Sizes are x86-64 and aarch64
// LP64; the static_asserts at the end of each struct are the contract. The library is opened at run
// time (nvml_library.h); the twin's stand-in implements the same declarations.
//
// Layouts that differ between driver releases under one symbol name (process lists) are not
// declared as one struct here: their stride is probed, see nvml_processes.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perjoule::nvml {

using Return = int;
using Device = void*;  ///< opaque handle
using EventSet = void*;

constexpr Return kSuccess = 0;
constexpr Return kUninitialized = 1;
constexpr Return kInvalidArgument = 2;
constexpr Return kNotSupported = 3;
constexpr Return kNoPermission = 4;
constexpr Return kAlreadyInitialized = 5;
constexpr Return kNotFound = 6;
constexpr Return kInsufficientSize = 7;
constexpr Return kInsufficientPower = 8;
constexpr Return kDriverNotLoaded = 9;
constexpr Return kTimeout = 10;
constexpr Return kLibraryNotFound = 12;
constexpr Return kFunctionNotFound = 13;
constexpr Return kGpuIsLost = 15;
constexpr Return kResetRequired = 16;
constexpr Return kOperatingSystem = 17;  ///< blocked by the OS or a cgroup
constexpr Return kInUse = 19;
constexpr Return kMemory = 20;
constexpr Return kNoData = 21;
constexpr Return kArgumentVersionMismatch = 25;
constexpr Return kDeprecated = 26;
constexpr Return kNotReady = 27;
constexpr Return kGpuNotFound = 28;
constexpr Return kInvalidState = 29;
constexpr Return kUnknown = 999;

constexpr unsigned kInitFlagNoGpus = 1;
constexpr unsigned kInitFlagNoAttach = 2;

// Clock types and clock ids.
constexpr unsigned kClockGraphics = 0;
constexpr unsigned kClockSm = 1;
constexpr unsigned kClockMemory = 2;
constexpr unsigned kClockVideo = 3;
constexpr unsigned kClockIdCurrent = 0;
constexpr unsigned kClockIdAppTarget = 1;
constexpr unsigned kClockIdAppDefault = 2;
constexpr unsigned kClockIdBoostMax = 3;

// Architectures.
constexpr unsigned kArchitectureVolta = 5;
constexpr unsigned kArchitectureTuring = 6;
constexpr unsigned kArchitectureAmpere = 7;
constexpr unsigned kArchitectureAda = 8;
constexpr unsigned kArchitectureHopper = 9;
constexpr unsigned kArchitectureBlackwell = 10;
constexpr unsigned kArchitectureUnknown = 0xffffffffU;

// Clock event (throttle) reasons, one bit each.
constexpr std::uint64_t kReasonIdle = 0x1;
constexpr std::uint64_t kReasonApplicationClocks = 0x2;
constexpr std::uint64_t kReasonSoftwarePowerCap = 0x4;
constexpr std::uint64_t kReasonHardwareSlowdown = 0x8;
constexpr std::uint64_t kReasonSyncBoost = 0x10;
constexpr std::uint64_t kReasonSoftwareThermal = 0x20;
constexpr std::uint64_t kReasonHardwareThermal = 0x40;
constexpr std::uint64_t kReasonPowerBrake = 0x80;
constexpr std::uint64_t kReasonDisplayClocks = 0x100;

// Field ids that never moved between releases; those from 251 up did and are not used.
constexpr unsigned kFieldMemoryTemperature = 82;
constexpr unsigned kFieldTotalEnergy = 83;    ///< mJ
constexpr unsigned kFieldPowerAverage = 185;  ///< mW
constexpr unsigned kFieldPowerInstant = 186;  ///< mW
constexpr unsigned kFieldPowerMinLimit = 187;
constexpr unsigned kFieldPowerMaxLimit = 188;
constexpr unsigned kFieldPowerDefaultLimit = 189;
constexpr unsigned kFieldPowerEnforcedLimit = 190;
constexpr unsigned kFieldEnergy = 191;
constexpr unsigned kFieldPowerRequestedLimit = 192;
// Scopes of fields 185 to 192.
constexpr unsigned kScopeGpu = 0;
constexpr unsigned kScopeModule = 1;
constexpr unsigned kScopeMemory = 2;

// Workload power profiles.
constexpr unsigned kProfileMaxP = 0;
constexpr unsigned kProfileMaxQ = 1;
constexpr unsigned kProfileCompute = 2;
constexpr unsigned kProfileMemoryBound = 3;
constexpr unsigned kProfileBalanced = 5;
constexpr unsigned kProfileLlmInference = 6;
constexpr unsigned kProfileLlmTraining = 7;

// Sample buffers.
constexpr unsigned kSamplesTotalPower = 0;
constexpr unsigned kSamplesGpuUtilization = 1;
constexpr unsigned kSamplesMemoryUtilization = 2;
constexpr unsigned kSamplesProcessorClock = 5;
constexpr unsigned kSamplesMemoryClock = 6;
constexpr unsigned kSamplesModulePower = 7;

// Value types of FieldValue and Sample.
constexpr unsigned kValueDouble = 0;
constexpr unsigned kValueUnsigned = 1;
constexpr unsigned kValueUnsignedLong = 2;
constexpr unsigned kValueUnsignedLongLong = 3;
constexpr unsigned kValueSignedLongLong = 4;
constexpr unsigned kValueSigned = 5;
constexpr unsigned kValueUnsignedShort = 6;

union Value {
  double real;
  std::uint32_t u32;
  std::uint64_t u64;
  std::int64_t s64;
  std::int32_t s32;
  std::uint16_t u16;
};
static_assert(sizeof(Value) == 8);

struct PciInfo {
  char bus_id_legacy[16];  ///< 4-digit domain
  std::uint32_t domain;
  std::uint32_t bus;
  std::uint32_t device;
  std::uint32_t pci_device_id;
  std::uint32_t pci_subsystem_id;
  char bus_id[32];  ///< 8-digit domain, "00000000:65:00.0"
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, bus_id) == 36);

struct Utilization {
  std::uint32_t gpu;     ///< per cent of time any kernel ran
  std::uint32_t memory;  ///< per cent of time memory was read or written
};
static_assert(sizeof(Utilization) == 8);

struct Memory {
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(sizeof(Memory) == 24);

struct MemoryV2 {
  std::uint32_t version;  ///< kMemoryV2Version
  std::uint64_t total;
  std::uint64_t reserved;
  std::uint64_t free;
  std::uint64_t used;
};
static_assert(sizeof(MemoryV2) == 40);

struct FieldValue {
  std::uint32_t field_id;
  std::uint32_t scope_id;
  std::int64_t timestamp_us;
  std::int64_t latency_us;
  std::uint32_t value_type;
  Return result;  ///< each field has its own: the call succeeds when any field does
  Value value;
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, value) == 32);

struct Sample {
  std::uint64_t timestamp_us;
  Value value;
};
static_assert(sizeof(Sample) == 16);

struct ViolationTime {
  std::uint64_t reference_us;
  std::uint64_t violation_ns;
};
static_assert(sizeof(ViolationTime) == 16);

struct ProcessUtilizationSample {
  std::uint32_t pid;
  std::uint64_t timestamp_us;
  std::uint32_t sm;
  std::uint32_t memory;
  std::uint32_t encoder;
  std::uint32_t decoder;
};
static_assert(sizeof(ProcessUtilizationSample) == 32);

struct PowerValueV2 {
  std::uint32_t version;  ///< kPowerValueV2Version
  std::uint8_t scope;
  std::uint32_t power_mw;
};
static_assert(sizeof(PowerValueV2) == 12);

struct TemperatureV1 {
  std::uint32_t version;  ///< kTemperatureV1Version
  std::uint32_t sensor;
  std::int32_t temperature;
};
static_assert(sizeof(TemperatureV1) == 12);

struct EventData {
  Device device;
  std::uint64_t type;
  std::uint64_t data;  ///< the Xid for critical errors
  std::uint32_t gpu_instance_id;
  std::uint32_t compute_instance_id;
};
static_assert(sizeof(EventData) == 32);

struct DeviceAttributes {
  std::uint32_t multiprocessor_count;
  std::uint32_t shared_copy_engines;
  std::uint32_t shared_decoders;
  std::uint32_t shared_encoders;
  std::uint32_t shared_jpegs;
  std::uint32_t shared_ofas;
  std::uint32_t gpu_instance_slices;
  std::uint32_t compute_instance_slices;
  std::uint64_t memory_mb;
};
static_assert(sizeof(DeviceAttributes) == 40);

/// A bit a profile, the lowest of the first word for profile 0.
struct ProfileMask {
  std::uint32_t words[8];
};
struct ProfileInfo {
  std::uint32_t version;  ///< kProfileInfoVersion
  std::uint32_t id;
  std::uint32_t priority;
  ProfileMask conflicts;
};
static_assert(sizeof(ProfileInfo) == 44);
struct ProfilesInfo {
  std::uint32_t version;  ///< kProfilesInfoVersion
  ProfileMask supported;
  ProfileInfo profiles[255];  ///< by id; only the supported ones mean something
};
static_assert(sizeof(ProfilesInfo) == 11256);
struct CurrentProfiles {
  std::uint32_t version;  ///< kCurrentProfilesVersion
  ProfileMask supported;
  ProfileMask requested;
  ProfileMask enforced;  ///< what the driver made of the requests
};
static_assert(sizeof(CurrentProfiles) == 100);
struct RequestedProfiles {
  std::uint32_t version;  ///< kRequestedProfilesVersion
  ProfileMask requested;
};
static_assert(sizeof(RequestedProfiles) == 36);

/// NVML's rule for versioned structs.
constexpr std::uint32_t version_word(std::size_t size, unsigned version) {
  return static_cast<std::uint32_t>(size) | (version << 24U);
}
constexpr std::uint32_t kMemoryV2Version = version_word(sizeof(MemoryV2), 2);
constexpr std::uint32_t kPowerValueV2Version = version_word(sizeof(PowerValueV2), 2);
constexpr std::uint32_t kTemperatureV1Version = version_word(sizeof(TemperatureV1), 1);
constexpr std::uint32_t kProfileInfoVersion = version_word(sizeof(ProfileInfo), 1);
constexpr std::uint32_t kProfilesInfoVersion = version_word(sizeof(ProfilesInfo), 1);
constexpr std::uint32_t kCurrentProfilesVersion = version_word(sizeof(CurrentProfiles), 1);
constexpr std::uint32_t kRequestedProfilesVersion = version_word(sizeof(RequestedProfiles), 1);

/// Process lists: 16 bytes (pid, memory), 24 (+ instance ids) or 32 (early R535) a row under one
/// name.
constexpr std::size_t kProcessStrideV1 = 16;
constexpr std::size_t kProcessStrideV2 = 24;
constexpr std::size_t kProcessStrideR535 = 32;
constexpr std::size_t kLargestProcessStride = 40;

}  // namespace perjoule::nvml
