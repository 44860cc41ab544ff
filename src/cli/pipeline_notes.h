// What a reader of a pipeline's figures has to know of the profile behind them, on standard error.
#pragma once

#include "pipeline/profile/profile.h"

namespace perjoule::cli {

/// Settings that are no options because not all GPUs of the stage were measured there; nothing
/// where there are none.
void say_left_out(const PipelineProfile& profile);

}  // namespace perjoule::cli
