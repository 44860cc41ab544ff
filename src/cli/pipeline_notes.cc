#include "cli/pipeline_notes.h"

#include "cli/table.h"

namespace perjoule::cli {

void say_left_out(const PipelineProfile& profile) {
  const std::string text = profile.left_out().text(profile.name());
  if (!text.empty()) complain(text);
}

}  // namespace perjoule::cli
