#include "serving/load/bench_task.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace perjoule {
namespace {

// Tokens: more than any server takes.
constexpr double kLongest = 1e8;

}  // namespace

const std::vector<BenchTask>& bench_tasks() {
  static const std::vector<BenchTask> kTasks{
      {.name = "chat", .published = "lm-arena-chat"},
      {.name = "reasoning", .published = "gpqa", .requests = 198, .max_tokens = 32'768},
      {.name = "code",
       .published = "sourcegraph-fim",
       .endpoint = Endpoint::kCompletions,
       .max_tokens = 2048},
      {.name = "image-chat", .published = "image-chat"},
      {.name = "video-chat", .published = "video-chat", .requests = 512},
      {.name = "audio-chat", .published = ""},
      {.name = "length-control",
       .published = "",
       .endpoint = Endpoint::kCompletions,
       .max_tokens = 32'768,
       .has_made_prompts = true,
       .prompt = {LengthKind::kPareto, 500, 2.5},
       .output = {LengthKind::kExponential, 300}},
  };
  return kTasks;
}

Result<BenchTask> bench_task(std::string_view name) {
  std::string names;
  for (const BenchTask& task : bench_tasks()) {
    if (name == task.name || (!name.empty() && name == task.published)) return task;
    names += (names.empty() ? "" : ", ") + std::string(task.name);
  }
  return Error::invalid_argument(fmt::format("no task '{}'", name), "there are " + names);
}

Json bench_sampling() {
  Json sampling = Json::object();
  sampling["temperature"] = 0.8;
  sampling["top_p"] = 0.95;
  sampling["repetition_penalty"] = 1.1;
  return sampling;
}

Result<LengthLaw> parse_length_law(std::string_view text) {
  const auto refuse = [text] {
    return Error::invalid_argument(
        fmt::format("no law of lengths: '{}'", text),
        "write 500, uniform:500:100, exponential:300, pareto:500:2.5 or lognormal:500:0.8, with "
        "<32768 behind it for an upper bound");
  };
  LengthLaw law;
  std::string_view words = text;
  if (const std::size_t bound = words.find('<'); bound != std::string_view::npos) {
    const auto most = parse_integer(words.substr(bound + 1));
    if (!most || *most < 1) return refuse();
    law.most = *most;
    words = words.substr(0, bound);
  }
  const std::vector<std::string_view> parts = split(words, ':');
  const auto number = [&](std::size_t i) {
    return i < parts.size() ? parse_number(parts[i]) : std::nullopt;
  };
  if (const auto fixed = parse_number(parts[0]); fixed && parts.size() == 1) {
    if (!(*fixed >= 1) || *fixed > kLongest || *fixed != std::floor(*fixed)) return refuse();
    law.mean = *fixed;
    law.most = std::max(law.most, static_cast<std::int64_t>(*fixed));
    return law;
  }
  const std::string_view name = parts[0];
  const bool takes_spread = name != "exponential";
  if (parts.size() != (takes_spread ? 3u : 2u)) return refuse();
  if (name == "uniform") {
    law.kind = LengthKind::kUniform;
  } else if (name == "exponential") {
    law.kind = LengthKind::kExponential;
  } else if (name == "pareto") {
    law.kind = LengthKind::kPareto;
  } else if (name == "lognormal") {
    law.kind = LengthKind::kLogNormal;
  } else {
    return refuse();
  }
  const auto mean = number(1);
  const auto spread = takes_spread ? number(2) : std::optional<double>(0);
  if (!mean || !(*mean >= 1) || *mean > kLongest || !spread) return refuse();
  law.mean = *mean;
  law.spread = *spread;
  return law;
}

}  // namespace perjoule
