#include <fmt/format.h>

#include <cstdint>

#include "base/clock.h"
#include "base/shared_library.h"
#include "gpu_load.h"

namespace perjoule {
namespace {

// Four independent chains of fused multiply-adds a thread, for `rounds` rounds. The store never
// happens, but the compiler cannot know.
constexpr const char* kKernel = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry burn(.param .u64 rounds, .param .u64 sink) {
  .reg .pred %again, %store;
  .reg .b64 %left, %to;
  .reg .f32 %a, %b, %c, %d, %m, %s;
  ld.param.u64 %left, [rounds];
  ld.param.u64 %to, [sink];
  mov.f32 %a, 0f3F800000;
  mov.f32 %b, 0f3F900000;
  mov.f32 %c, 0f3FA00000;
  mov.f32 %d, 0f3FB00000;
  mov.f32 %m, 0f3F7FFFF0;
  mov.f32 %s, 0f38D1B717;
again:
  fma.rn.f32 %a, %a, %m, %s;
  fma.rn.f32 %b, %b, %m, %s;
  fma.rn.f32 %c, %c, %m, %s;
  fma.rn.f32 %d, %d, %m, %s;
  sub.u64 %left, %left, 1;
  setp.ne.u64 %again, %left, 0;
  @%again bra again;
  add.f32 %a, %a, %b;
  add.f32 %c, %c, %d;
  add.f32 %a, %a, %c;
  setp.eq.f32 %store, %a, 0fC640E400;
  @%store st.global.f32 [%to], %a;
  ret;
}
)";

constexpr unsigned kBlocks = 4096;
constexpr unsigned kThreads = 256;
constexpr std::uint64_t kFirstRounds = 1000;
constexpr double kKernelSeconds = 0.5e-3;

using Status = int;  // CUresult
constexpr Status kSuccess = 0;

struct Driver {
  explicit Driver(SharedLibrary opened) : library(std::move(opened)) {
    library.load(init, "cuInit");
    library.load(device_get, "cuDeviceGet");
    library.load(retain, "cuDevicePrimaryCtxRetain");
    library.load(release, "cuDevicePrimaryCtxRelease_v2");
    library.load(set_current, "cuCtxSetCurrent");
    library.load(synchronize, "cuCtxSynchronize");
    library.load(load_module, "cuModuleLoadData");
    library.load(get_function, "cuModuleGetFunction");
    library.load(allocate, "cuMemAlloc_v2");
    library.load(launch, "cuLaunchKernel");
  }
  bool complete() const {
    return init != nullptr && device_get != nullptr && retain != nullptr && release != nullptr &&
           set_current != nullptr && synchronize != nullptr && load_module != nullptr &&
           get_function != nullptr && allocate != nullptr && launch != nullptr;
  }

  SharedLibrary library;
  Status (*init)(unsigned) = nullptr;
  Status (*device_get)(int*, int) = nullptr;
  Status (*retain)(void**, int) = nullptr;
  Status (*release)(int) = nullptr;
  Status (*set_current)(void*) = nullptr;
  Status (*synchronize)() = nullptr;
  Status (*load_module)(void**, const void*) = nullptr;
  Status (*get_function)(void**, void*, const char*) = nullptr;
  Status (*allocate)(std::uint64_t*, std::size_t) = nullptr;
  Status (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   void*, void**, void**) = nullptr;
};

class CudaLoad final : public GpuLoad {
 public:
  explicit CudaLoad(SharedLibrary library) : driver_(std::move(library)) {}
  ~CudaLoad() override {
    if (context_ != nullptr) driver_.release(device_);
  }

  Outcome open() {
    if (!driver_.complete()) return Error::not_supported("the CUDA driver lacks a function");
    void* module = nullptr;
    PJ_CHECK(done(driver_.init(0), "cuInit"));
    PJ_CHECK(done(driver_.device_get(&device_, 0), "cuDeviceGet"));
    PJ_CHECK(done(driver_.retain(&context_, device_), "cuDevicePrimaryCtxRetain"));
    PJ_CHECK(done(driver_.set_current(context_), "cuCtxSetCurrent"));
    PJ_CHECK(done(driver_.load_module(&module, kKernel), "cuModuleLoadData"));
    PJ_CHECK(done(driver_.get_function(&burn_, module, "burn"), "cuModuleGetFunction"));
    PJ_CHECK(done(driver_.allocate(&sink_, 256), "cuMemAlloc"));
    // Once to load the kernel, once to time it.
    PJ_CHECK(run_kernel());
    const Instant begin = clock_.now();
    PJ_CHECK(run_kernel());
    const double seconds = (clock_.now() - begin).value();
    rounds_ = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(static_cast<double>(rounds_) * kKernelSeconds / seconds));
    return {};
  }

  Outcome burn(Seconds duration) override {
    PJ_CHECK(done(driver_.set_current(context_), "cuCtxSetCurrent"));
    const Instant end = clock_.now() + duration;
    while (clock_.now() < end) PJ_CHECK(run_kernel());
    return {};
  }

 private:
  static Outcome done(Status status, const char* call) {
    if (status == kSuccess) return {};
    return Error::unavailable(fmt::format("{}: CUDA error {}", call, status));
  }

  Outcome run_kernel() {
    void* arguments[] = {&rounds_, &sink_};
    PJ_CHECK(
        done(driver_.launch(burn_, kBlocks, 1, 1, kThreads, 1, 1, 0, nullptr, arguments, nullptr),
             "cuLaunchKernel"));
    return done(driver_.synchronize(), "cuCtxSynchronize");
  }

  Driver driver_;
  RealClock clock_;
  int device_ = 0;
  void* context_ = nullptr;
  void* burn_ = nullptr;
  std::uint64_t sink_ = 0;
  std::uint64_t rounds_ = kFirstRounds;
};

}  // namespace

Result<std::unique_ptr<GpuLoad>> make_cuda_load() {
  PJ_TRY(SharedLibrary library, SharedLibrary::open("libcuda.so.1"));
  auto load = std::make_unique<CudaLoad>(std::move(library));
  PJ_CHECK(load->open());
  return std::unique_ptr<GpuLoad>(std::move(load));
}

}  // namespace perjoule
