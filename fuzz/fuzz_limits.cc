// Recordings of power limits from anyone: whatever is accepted can be asked every rule, and names a
// limit that is there.
#include <cstdint>
#include <cstdlib>

#include "frontier/frontier.h"
#include "train/limit_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace perjoule;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto recording = parse_limit_recording(text, "f");
  if (!recording) return 0;
  if (recording->points.empty()) std::abort();
  const auto frontier = Frontier::make(recording->points);
  if (!frontier) return 0;  // figures may be there that are no operating point
  for (const char* word : {"eta=0", "eta=0.5", "slowdown=1.1", "power=1W", "edp", "knee"}) {
    const auto choice = frontier->choose(recording->with_max_power(*parse_rule(word)));
    if (!choice || choice->chosen >= recording->points.size()) std::abort();
  }
  // Refused where GPUs have unlike limits.
  (void)frontier->choose(MaxSlowdown{1.1, "power limit"});
  return 0;
}
