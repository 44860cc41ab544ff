// Order files of pipelines: whatever is accepted must be a schedule that makes a network, and one
// that is whole must be in order or have a circle that is named.
#include <cstdlib>

#include "pipeline/schedule/schedules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace perjoule;
  if (size == 0) return 0;
  ScheduleShape shape{.stages = 0, .microbatches = 0};
  // The first byte chooses what is added; the rest is the file.
  if ((data[0] & 1U) != 0) shape.load = "load";
  if ((data[0] & 2U) != 0) shape.stage_end = {"all-reduce", "step"};
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto schedule = parse_order(text, "f", shape);
  if (!schedule) return 0;
  if (schedule->size() == 0 || schedule->stages.empty()) std::abort();
  for (const Precedence& one : schedule->across) {
    if (one.before >= schedule->size() || one.after >= schedule->size()) std::abort();
  }
  for (std::uint32_t a = 0; a < schedule->size(); ++a) (void)schedule->describe(a);
  const ActivityNetwork network = schedule->network();
  if (network.topological_order().has_value() != network.find_cycle().empty()) std::abort();
  return 0;
}
