// The serving profiles that the authors of BEAM measured with locked clocks (jlee335/BEAM-artifact,
// Apache-2.0): dynamo_dvfs_profile_<GPU>_<model>.csv with columns clock (MHz), tp, pp, tps (offered
// prompt tokens/s), gpu_power (W, mean, summed over the instance's GPUs), ttft_mean, ttft_p99,
// tbt_mean and tbt_p90 (ms). 60 s a point, about 1,050 prompt and 150 output tokens a request.
//
//   PJ_TRY(const ServingProfile profile, read_beam_profile(table, {}));
#pragma once

#include <string>

#include "base/csv.h"
#include "fleet/profile/serving_profile.h"

namespace perjoule {

/// What the file's name does not say, or says otherwise; empty: as the name has it.
struct BeamNames {
  std::string gpu = {};
  std::string model = {};
};

/// "A100-SXM4-80GB" and "meta-llama/Llama-3.3-70B-Instruct" of a path with
/// dynamo_dvfs_profile_A100-SXM4-80GB_meta-llama_Llama-3.3-70B-Instruct.csv; what is not told is
/// empty. A GPU's name may have underscores (A100_80GB_PCIe), so the model begins behind the first
/// one whose next word is an organisation that is known, or, failing that, is not told.
BeamNames beam_names(std::string_view path);

bool is_beam_profile(const CsvTable& table);

/// Status reconstructed: these are others' measurements. invalid_argument for a cell that makes no
/// sense (file, line, column), where nothing tells GPU and model, and for a point that stands there
/// twice.
Result<ServingProfile> read_beam_profile(const CsvTable& table, const BeamNames& names);

}  // namespace perjoule
