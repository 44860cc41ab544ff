#include "workload/bench_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "workload/aiperf.h"
#include "workload/bench_identities.h"
#include "workload/bench_result_json.h"
#include "workload/guidellm.h"
#include "workload/mlenergy_raw.h"
#include "workload/mlenergy_v2.h"
#include "workload/mlenergy_v3.h"
#include "workload/mlperf_loadgen.h"
#include "workload/python_json.h"
#include "workload/trtllm_bench.h"
#include "workload/vllm_bench.h"

namespace perjoule {
namespace {

/// What one file held.
struct Document {
  bool known = false;
  bool has_detail = false;   ///< MLPerf's summary: when it was stands in another file
  bool models_only = false;  ///< v3's file of one model: read after the tasks, which have all names
  std::vector<BenchResult> results;
  std::vector<BenchModel> models;  ///< of an index
};

/// Whether a load generator of Python wrote it.
bool is_of_generator(const Json& json) {
  return is_vllm_bench(json) || is_aiperf(json) || is_guidellm(json) || is_trtllm_bench(json);
}

Result<Document> read_of_generator(const Json& json, std::string_view name,
                                   std::optional<Seconds> utc_offset) {
  Document document;
  document.known = true;
  const auto take = [&](Result<BenchResult> result) -> Result<Document> {
    if (!result) return fail(result);
    document.results.push_back(std::move(*result));
    return std::move(document);
  };
  if (is_vllm_bench(json)) return take(read_vllm_bench(json, name, utc_offset));
  if (is_aiperf(json)) return take(read_aiperf(json, name, utc_offset));
  if (is_trtllm_bench(json)) return take(read_trtllm_bench(json, name));
  PJ_TRY(document.results, read_guidellm(json, name));
  return document;
}

Result<Document> read_json(const Json& json, std::string_view name,
                           std::optional<Seconds> utc_offset) {
  Document document;
  document.known = true;
  const std::string schema = json.string("schema").value_or("");
  if (starts_with_ignoring_case(schema, "perjoule.bench-result.")) {
    PJ_TRY(BenchResult result, bench_result_from_json(json, name));
    document.results.push_back(std::move(result));
    return document;
  }
  if (schema == kBenchResultsSchema) {
    const Json* results = json.find("results");
    if (results == nullptr || results->as_array() == nullptr)
      return Error::invalid_argument(std::string(name) + ": 'results' is not a list");
    for (const Json& one : *results->as_array()) {
      PJ_TRY(BenchResult result, bench_result_from_json(one, name));
      document.results.push_back(std::move(result));
    }
    return document;
  }
  if (is_mlenergy_raw(json)) {
    PJ_TRY(BenchResult result, read_mlenergy_raw(json, name));
    document.results.push_back(std::move(result));
    return document;
  }
  switch (mlenergy_v3_kind(json)) {
    case MlEnergyV3::kIndex: {
      PJ_TRY(document.models, read_mlenergy_v3_index(json, name));
      return document;
    }
    case MlEnergyV3::kModel:
      document.models_only = true;
      [[fallthrough]];
    case MlEnergyV3::kTask: {
      PJ_TRY(document.results, read_mlenergy_v3(json, name));
      return document;
    }
    case MlEnergyV3::kNone:
      break;
  }
  if (is_of_generator(json)) return read_of_generator(json, name, utc_offset);
  document.known = false;
  return document;
}

/// A text that is not JSON by the letter: of one of the load generators all the same, which write
/// NaN, or with --append-result a document a line. None when it is not.
std::optional<Result<Document>> read_nearly_json(std::string_view text, std::string_view name,
                                                 std::optional<Seconds> utc_offset) {
  const std::string finite = without_non_finite(text);
  if (const Result<Json> whole = parse_json(finite); whole && is_of_generator(*whole))
    return read_of_generator(*whole, name, utc_offset);
  Document document;
  document.known = true;
  for (const std::string_view line : split(finite, '\n')) {
    if (trim(line).empty()) continue;
    const Result<Json> json = parse_json(line);
    if (!json || !is_vllm_bench(*json)) return std::nullopt;
    Result<BenchResult> result = read_vllm_bench(*json, name, utc_offset);
    if (!result) return Result<Document>(fail(result));
    result->origin.row = document.results.size() + 1;
    document.results.push_back(std::move(*result));
  }
  return Result<Document>(std::move(document));
}

bool begins_json(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return at != std::string_view::npos && (text[at] == '{' || text[at] == '[');
}

/// Whether the first line could be the header of a table that we know: what need not be a table is
/// not parsed as one.
bool begins_table(std::string_view text) {
  while (!text.empty() && text.front() == '#') {
    const std::size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.find("energy_per_") != std::string_view::npos &&
         line.find("model") != std::string_view::npos;
}

Result<Document> read_document(std::string text, std::string_view name,
                               std::optional<Seconds> utc_offset) {
  if (begins_json(text)) {
    const Result<Json> json = parse_json(text);
    if (json) return read_json(*json, name, utc_offset);
    if (auto nearly = read_nearly_json(text, name, utc_offset)) return std::move(*nearly);
    return fail(json, name);
  }
  Document document;
  if (is_mlperf_summary(text)) {
    document.known = document.has_detail = true;
    PJ_TRY(BenchResult result, read_mlperf_summary(text, name));
    document.results.push_back(std::move(result));
    return document;
  }
  if (!begins_table(text)) return document;
  PJ_TRY(const CsvTable table, take_csv(std::move(text), name));
  if (!is_mlenergy_v2(table)) return document;
  document.known = true;
  PJ_TRY(document.results, read_mlenergy_v2(table));
  return document;
}

/// What tells one measured point from another: its settings, and the figures themselves, so that a
/// repeat under the same settings is a point of its own.
std::string identity_of(const BenchResult& r) {
  const auto number = [](const auto& value) {
    return value ? exact(static_cast<double>(*value)) : std::string("-");
  };
  const auto& p = r.parallel;
  const Energy* unit = unit_energy(r);
  const auto& latency = r.latency;
  return fmt::format(
      "{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", r.benchmark,
      r.task, r.model.id, r.engine.version, r.gpus.model, r.gpus.count, number(p.tensor),
      number(p.expert), number(p.data), number(p.pipeline), number(p.ulysses), number(p.ring),
      number(r.batch.max_num_seqs), number(r.batch.size), number(r.media.steps),
      number(r.media.height), number(r.media.frames), number(r.load.asked_per_s),
      number(r.load.concurrency), unit == nullptr ? 0 : unit->joules.value(),
      latency.batch ? latency.batch->value() : 0, latency.itl.p50 ? latency.itl.p50->value() : 0,
      r.window ? r.window->begin_unix_ns : 0, number(r.load.delivered_per_s),
      latency.e2el.mean ? latency.e2el.mean->value() : 0);
}

/// Gathers documents into one list.
class Gatherer {
 public:
  void add(Document document) {
    ++files_.read;
    for (BenchModel& model : document.models) models_[model.id] = std::move(model);
    auto& list = document.models_only ? later_ : first_;
    for (BenchResult& result : document.results) list.push_back(std::move(result));
  }
  void note(std::string text) { files_.notes.push_back(std::move(text)); }
  void pass_over() { ++files_.passed_over; }

  BenchFiles take() && {
    for (auto* list : {&first_, &later_}) {
      for (BenchResult& result : *list) add(std::move(result));
    }
    for (BenchResult& result : files_.results) {
      for (std::string& reason : wrong_figures(result))
        result.validity.push_back(std::move(reason));
    }
    if (joined_ > 0) {
      files_.notes.push_back("taken once though in several files: " + counted(joined_, "result"));
    }
    return std::move(files_);
  }

 private:
  void add(BenchResult result) {
    if (const auto known = models_.find(result.model.id); known != models_.end())
      complete(result.model, known->second);
    const auto [at, is_new] = places_.try_emplace(identity_of(result), files_.results.size());
    if (is_new) {
      files_.results.push_back(std::move(result));
      return;
    }
    BenchResult& there = files_.results[at->second];
    if (there.origin.file == result.origin.file) {
      result.validity.push_back("the same as " + text_of(there.origin));
      files_.results.push_back(std::move(result));
      return;
    }
    ++joined_;
    complete(there.model, result.model);
    if (!there.lengths.outputs) there.lengths.outputs = std::move(result.lengths.outputs);
    if (!there.quality.accuracy) there.quality = std::move(result.quality);
  }

  static void complete(BenchModel& model, const BenchModel& other) {
    if (model.nickname.empty()) model.nickname = other.nickname;
    if (model.architecture.empty()) model.architecture = other.architecture;
    if (model.precision.empty()) model.precision = other.precision;
    if (!model.total_billions) model.total_billions = other.total_billions;
    if (!model.activated_billions) model.activated_billions = other.activated_billions;
  }

  BenchFiles files_;
  std::vector<BenchResult> first_;
  std::vector<BenchResult> later_;
  std::map<std::string, BenchModel> models_;
  std::unordered_map<std::string, std::size_t> places_;
  double joined_ = 0;
};

class Walk {
 public:
  Walk(Gatherer& gatherer, const BenchFilesOptions& options)
      : gatherer_(gatherer), options_(options) {}

  Outcome take(const std::string& path) {
    if (!is_folder(path)) return take_file(path, true);
    return take_folder(path, 0);
  }

 private:
  Outcome take_folder(const std::string& path, int depth) {
    constexpr int kDeepest = 32;  // of links that lead back up
    if (depth > kDeepest) return {};
    // A folder that may not be read lists as an empty one.
    if (const auto opened = open_for_reading(path); !opened) return bad(fail(opened));
    for (const std::string& name : list_folder(path)) {
      const std::string below = fmt::format("{}{}{}", path, path.ends_with('/') ? "" : "/", name);
      if (is_folder(below)) {
        PJ_CHECK(take_folder(below, depth + 1));
      } else if (is_plain_file(below)) {
        PJ_CHECK(take_file(below, false));
      }
    }
    return {};
  }

  Outcome take_file(const std::string& path, bool named) {
    if (!seen_.insert(path).second) return {};  // named twice, or within a folder that is named too
    if (!named) {
      // Only what may be a result is read whole: a folder may hold anything beside it.
      const Result<std::string> beginning = read_beginning(path, 4096);
      if (!beginning) return bad(fail(beginning));
      const bool may_be =
          begins_json(*beginning) || begins_table(*beginning) || is_mlperf_summary(*beginning);
      if (!may_be) {
        gatherer_.pass_over();
        return {};
      }
    }
    Result<std::string> text = read_file(path);
    if (!text) return bad(fail(text));
    Result<Document> document = read_document(std::move(*text), path, options_.utc_offset);
    if (!document && !named && path.ends_with(".jsonl")) {
      // A document a line, such as AIPerf's records of single requests beside its result.
      gatherer_.pass_over();
      return {};
    }
    if (!document) return bad(fail(document));
    if (const Outcome added = add_detail(path, *document); !added) return bad(fail(added));
    if (document->known) {
      gatherer_.add(std::move(*document));
    } else if (named) {
      return bad(Error::invalid_argument(
          path + ": not a benchmark result of a known format",
          "our own results and those of ML.ENERGY, vllm bench serve, AIPerf, genai-perf, guidellm, "
          "trtllm-bench and MLPerf (mlperf_log_summary.txt) are read"));
    } else {
      gatherer_.pass_over();
    }
    return {};
  }

  /// MLPerf writes when its run was into another file beside the summary.
  static Outcome add_detail(const std::string& path, Document& document) {
    if (!document.has_detail || path == "-") return {};
    const std::size_t slash = path.rfind('/');
    const std::string folder =
        slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
    const std::string detail = folder + std::string(kMlPerfDetail);
    if (!path_exists(detail)) return {};
    PJ_TRY(const std::string text, read_file(detail));
    return add_mlperf_detail(text, detail, document.results[0]);
  }

  Outcome bad(tl::unexpected<Error> error) {
    if (!options_.skip_bad) return error;
    gatherer_.note("left out: " + error.value().message);
    return {};
  }

  Gatherer& gatherer_;
  const BenchFilesOptions& options_;
  std::set<std::string> seen_;
};

}  // namespace

Result<BenchFiles> read_bench_files(const std::vector<std::string>& paths,
                                    const BenchFilesOptions& options) {
  Gatherer gatherer;
  Walk walk(gatherer, options);
  for (const std::string& path : paths) PJ_CHECK(walk.take(path));
  BenchFiles files = std::move(gatherer).take();
  if (!files.results.empty()) return files;
  std::string where;
  for (const std::string& path : paths) where += (where.empty() ? "" : ", ") + path;
  return Error::not_found(
      fmt::format("no benchmark result in {}", where),
      fmt::format(
          "{} of no known format there",
          files.passed_over == 1 ? "1 file is" : fmt::format("{} files are", files.passed_over)));
}

Result<BenchFiles> parse_bench_text(std::string_view text, std::string_view name,
                                    std::optional<Seconds> utc_offset) {
  PJ_TRY(Document document, read_document(std::string(text), name, utc_offset));
  if (!document.known) {
    return Error::invalid_argument(std::string(name) +
                                   ": not a benchmark result of a known format");
  }
  Gatherer gatherer;
  gatherer.add(std::move(document));
  return std::move(gatherer).take();
}

}  // namespace perjoule
