// One measured point of an inference benchmark, whoever measured it: a served language model, or a
// diffusion model that makes images or videos, under one configuration. Every reader of others'
// files (workload/bench_files.h) and our own benchmark give this type, so that rankings, frontiers
// and checks know no format.
//
//   PJ_TRY(const BenchFiles files, read_bench_files({"results/"}, {}));
//   for (const BenchResult& result : files.results)
//     show(result.model.id, result.energy.output_token->joules);
//
// What a file does not say is absent, never zero. Energies of other tools come without an
// uncertainty: uncertainty_stated() tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/energy.h"
#include "base/units.h"

namespace perjoule {

/// What the model answers with, and so what its energy is per.
enum class BenchKind : std::uint8_t { kText, kImage, kVideo };
std::string_view name_of(BenchKind kind);  ///< "text", "image", "video"

struct BenchModel {
  std::string id;  ///< "meta-llama/Llama-3.1-8B-Instruct"
  std::string nickname = {};
  std::string architecture = {};                  ///< "Dense Transformer"
  std::string precision = {};                     ///< of the weights: "bfloat16"
  std::optional<double> total_billions = {};      ///< parameters, 1e9
  std::optional<double> activated_billions = {};  ///< of these used for a token

  /// The nickname, else the id.
  const std::string& shown() const { return nickname.empty() ? id : nickname; }
};

struct BenchEngine {
  std::string name = {};  ///< "vLLM"
  std::string version = {};
};

struct BenchGpus {
  std::string model = {};  ///< "H100": short, the same from every file
  std::string name = {};   ///< as the file has it, where that differs
  std::int64_t count = 1;
};

/// The degrees of parallelism; absent: not stated.
struct BenchParallel {
  std::optional<std::int64_t> tensor = {};
  std::optional<std::int64_t> expert = {};
  std::optional<std::int64_t> data = {};
  std::optional<std::int64_t> pipeline = {};
  std::optional<std::int64_t> ulysses = {};
  std::optional<std::int64_t> ring = {};
};

struct BenchBatch {
  std::optional<std::int64_t> max_num_seqs = {};  ///< the server's limit of running requests
  std::optional<std::int64_t> size = {};          ///< images or videos made at once
  std::optional<double> mean = {};                ///< requests running, on average
};

/// How many responses had a length between two edges; one edge more than counts.
struct LengthHistogram {
  std::vector<double> edges = {};
  std::vector<double> counts = {};
  bool operator==(const LengthHistogram&) const = default;
};

/// In tokens.
struct BenchLengths {
  std::optional<double> mean_input = {};
  std::optional<double> mean_output = {};
  std::optional<LengthHistogram> outputs = {};
};

/// What was made, of images and videos.
struct BenchMedia {
  std::optional<std::int64_t> steps = {};
  std::optional<std::int64_t> height = {};
  std::optional<std::int64_t> width = {};
  std::optional<std::int64_t> frames = {};
  std::optional<double> frames_per_s = {};
};

struct BenchLoad {
  std::optional<double> asked_per_s = {};  ///< requests; infinite: all at once
  std::optional<double> burstiness = {};   ///< shape of the gaps' gamma law; 1 is Poisson
  std::optional<std::int64_t> concurrency = {};
  std::optional<double> delivered_per_s = {};
  std::optional<std::int64_t> requests = {};
  std::optional<std::int64_t> completed = {};
};

struct BenchEnergies {
  std::optional<Energy> output_token = {};
  std::optional<Energy> total_token = {};
  std::optional<Energy> response = {};
  std::optional<Energy> image = {};
  std::optional<Energy> video = {};
};

/// Per second, of all GPUs together.
struct BenchRates {
  std::optional<double> output_tokens = {};
  std::optional<double> total_tokens = {};
  std::optional<double> responses = {};
  std::optional<double> items = {};  ///< images or videos
};

struct LatencySummary {
  std::optional<Seconds> mean = {};
  std::optional<Seconds> p50 = {};
  std::optional<Seconds> p90 = {};
  std::optional<Seconds> p95 = {};
  std::optional<Seconds> p99 = {};
};

struct BenchLatency {
  LatencySummary itl = {};            ///< between two output tokens
  LatencySummary ttft = {};           ///< to the first one
  LatencySummary tpot = {};           ///< (end-to-end less TTFT) / (output tokens - 1)
  LatencySummary e2el = {};           ///< of a whole response
  std::optional<Seconds> batch = {};  ///< of a batch of images or videos
};

/// Requests that kept their limits of latency.
struct BenchGoodput {
  std::optional<double> share = {};         ///< of those that ended
  std::optional<double> requests = {};      ///< a second
  std::optional<Energy> output_token = {};  ///< of all energy, a token of theirs
};

/// Answers that were right.
struct BenchQuality {
  std::optional<double> accuracy = {};  ///< share, 0 to 1
  std::string measure = {};             ///< "exact match"
};

/// What the run recorded beside its figures: the inputs of serving/board/validity.h. Powers and
/// temperatures are of one GPU, the extremes over all of them within the window.
struct BenchEvidence {
  std::optional<Seconds> window = {};         ///< of steady state
  std::optional<double> sampling_share = {};  ///< samples taken of those that were due
  std::optional<Watts> instant_low = {};
  std::optional<Watts> instant_high = {};
  std::optional<Watts> average_low = {};
  std::optional<Watts> average_high = {};
  std::optional<Watts> memory_low = {};
  std::optional<Watts> memory_high = {};
  std::optional<double> temperature_outside_share = {};  ///< samples below 20 or above 95 C
  std::optional<double> length_limit_share = {};  ///< responses that were cut at the longest length
  std::optional<double> cache_use = {};           ///< of the key-value cache, 0 to 1
  std::optional<std::int64_t> engine_errors = {};  ///< dead engines and CUDA errors in the log
};

/// When the run was, in absolute time, as far as its file tells: what joins it with a power log
/// (bench_join.h). Its length is known to the clock's resolution; its place may be off.
struct BenchWindow {
  std::int64_t begin_unix_ns = 0;
  std::int64_t end_unix_ns = 0;  ///< after the begin
  /// The whole window may lie that much earlier or later; absent: nothing is known of it.
  std::optional<Seconds> known_within = {};
  std::string source = {};  ///< what tells: "date of the file less duration"

  Seconds duration() const {
    return Seconds(static_cast<double>(end_unix_ns - begin_unix_ns) * 1e-9);
  }
};

/// What was done in the window, of requests that succeeded.
struct BenchTotals {
  std::optional<double> output_tokens = {};
  std::optional<double> input_tokens = {};
  std::optional<double> responses = {};
  /// How long it took by the tool's own clock; a window given by others may differ. Of the whole
  /// run, where BenchEvidence::window is of its steady state.
  std::optional<Seconds> duration = {};
};

struct BenchOrigin {
  std::string file = {};
  std::size_t row = 0;  ///< line or element, 1-based; 0: the file is the one result
};

struct BenchResult {
  std::string benchmark = {};  ///< whose method and generation: "ML.ENERGY v3"
  std::string task = {};       ///< "lm-arena-chat"
  BenchKind kind = BenchKind::kText;
  BenchModel model = {};
  BenchEngine engine = {};
  BenchGpus gpus = {};
  BenchParallel parallel = {};
  BenchBatch batch = {};
  BenchLengths lengths = {};
  BenchMedia media = {};
  BenchLoad load = {};
  Config settings = {};  ///< others by which it was told from its neighbours
  BenchEnergies energy = {};
  std::optional<Watts> power = {};  ///< mean, all GPUs together
  BenchRates rates = {};
  BenchLatency latency = {};
  BenchGoodput goodput = {};
  BenchQuality quality = {};
  BenchEvidence evidence = {};
  std::optional<BenchWindow> window = {};
  BenchTotals totals = {};
  BenchOrigin origin = {};
  /// What speaks against the result, one sentence each; it is not ranked then.
  std::vector<std::string> validity = {};
};

/// The energy of an output token, image or video: what the result is ranked by. Null when absent.
const Energy* unit_energy(const BenchResult& result);
/// The energy of a whole response; of an image or video that is the same.
const Energy* response_energy(const BenchResult& result);
/// "token", "image", "video".
std::string_view unit_of(BenchKind kind);

/// Whether anything is said of how sure the figure is; other tools' files say nothing.
bool uncertainty_stated(const Energy& energy);

/// An energy that someone published without uncertainty: reconstructed, of the GPUs alone.
Energy published_energy(Joules joules, std::string_view source);

/// "bench/llm.csv: row 3": for messages.
std::string text_of(const BenchOrigin& origin);

/// The short name of a GPU: "NVIDIA H100 80GB HBM3" and "H100" are both "H100"; a name that is not
/// known stays.
std::string short_gpu_name(std::string_view name);

}  // namespace perjoule
