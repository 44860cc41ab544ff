// Presets of what is asked of a server: the tasks of the ML.ENERGY benchmark (research: its
// repository at c1d6557), with the user's own data in place of its data sets. Nothing is fetched.
//
// | task           | endpoint    | requests | longest answer | data                               |
// | chat           | chat        | 1,024    | 4,096          | conversations                      |
// | reasoning      | chat        | 198      | 32,768         | questions                          |
// | code           | completions | 1,024    | 2,048          | prefixes and suffixes, token ids   |
// | image-chat     | chat        | 1,024    | 4,096          | messages with images               |
// | video-chat     | chat        | 512      | 4,096          | messages with videos               |
// | audio-chat     | chat        | 1,024    | 4,096          | messages with sounds               |
// | length-control | completions | 1,024    | 32,768         | made: Pareto and exponential       |
//
// Their sampling: temperature 0.8, top_p 0.95, repetition_penalty 1.1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serving/load/request_set.h"
#include "serving/load/token_lengths.h"

namespace perjoule {

struct BenchTask {
  std::string_view name;
  std::string_view published;  ///< its name in ML.ENERGY's results; empty where it has none
  Endpoint endpoint = Endpoint::kChat;
  std::size_t requests = 1024;
  std::int64_t max_tokens = 4096;
  bool has_made_prompts = false;  ///< drawn from laws, each answer of its own length
  LengthLaw prompt = {};
  LengthLaw output = {};
};

const std::vector<BenchTask>& bench_tasks();
/// By its name or its published one. invalid_argument naming all there are.
Result<BenchTask> bench_task(std::string_view name);
/// {"temperature": 0.8, "top_p": 0.95, "repetition_penalty": 1.1}.
Json bench_sampling();

/// "500", "uniform:500:100", "exponential:300", "pareto:500:2.5", "lognormal:500:0.8", each with
/// an upper bound behind "<" where wanted: "exponential:300<32768". invalid_argument for others.
Result<LengthLaw> parse_length_law(std::string_view text);

}  // namespace perjoule
