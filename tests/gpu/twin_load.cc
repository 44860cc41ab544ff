#include <unistd.h>

#include "base/clock.h"
#include "gpu_load.h"
#include "twin/world.h"

namespace perjoule {
namespace {

constexpr double kEndlessFlop = 1e21;
constexpr std::uint64_t kContextBytes = 512U << 20U;

class TwinLoad final : public GpuLoad {
 public:
  explicit TwinLoad(twin::World world) : world_(std::move(world)) {}
  ~TwinLoad() override { (void)world_.detach(0, ::getpid()); }

  Outcome open() { return world_.attach(0, ::getpid(), kContextBytes); }

  Outcome burn(Seconds duration) override {
    PJ_CHECK(world_.begin_phase(0, {.flop = kEndlessFlop, .activity = 0.6}));
    clock_.sleep_until(clock_.now() + duration);
    return world_.end_phase(0);
  }

 private:
  twin::World world_;
  RealClock clock_;
};

}  // namespace

Result<std::unique_ptr<GpuLoad>> make_twin_load() {
  PJ_TRY(twin::World world, twin::World::open_from_environment());
  auto load = std::make_unique<TwinLoad>(std::move(world));
  PJ_CHECK(load->open());
  return std::unique_ptr<GpuLoad>(std::move(load));
}

}  // namespace perjoule
