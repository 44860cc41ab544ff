#include "workload/bench_result_json.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/energy_json.h"

namespace perjoule {
namespace {

/// Puts members into an object, leaving out what is absent.
class Writer {
 public:
  void member(const char* name, const std::string& text) {
    if (!text.empty()) json_[name] = text;
  }
  void member(const char* name, const std::optional<double>& number) {
    if (number) json_[name] = std::isinf(*number) ? Json("inf") : Json(*number);
  }
  void member(const char* name, const std::optional<std::int64_t>& number) {
    if (number) json_[name] = *number;
  }
  template <int E, int T, int M>
  void member(const char* name, const std::optional<Quantity<E, T, M>>& quantity) {
    if (quantity) json_[name] = quantity->value();
  }
  void member(const char* name, const std::optional<Energy>& energy) {
    if (!energy) return;
    Json json = to_json(*energy);
    // Zero would say that the figure is exact.
    if (!uncertainty_stated(*energy)) json["expanded_j"] = Json();
    json_[name] = std::move(json);
  }
  void member(const char* name, const std::vector<double>& numbers) {
    Json array = Json::array();
    for (const double number : numbers) array.push_back(number);
    json_[name] = std::move(array);
  }
  void member(const char* name, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    Json array = Json::array();
    for (const std::string& text : texts) array.push_back(text);
    json_[name] = std::move(array);
  }
  void member(const char* name, const Config& settings) {
    if (settings.empty()) return;
    Json object = Json::object();
    for (const Setting one : settings.settings()) object[std::string(one.name)] = one.value;
    json_[name] = std::move(object);
  }
  void count(const char* name, std::size_t number) {
    if (number > 0) json_[name] = static_cast<std::int64_t>(number);
  }
  void needed_count(const char* name, std::int64_t number) { json_[name] = number; }
  void instant(const char* name, std::int64_t unix_ns) { json_[name] = unix_ns; }
  template <typename F>
  void group(const char* name, F&& members) {
    Writer inner;
    members(inner);
    if (!inner.json_.as_object()->empty()) json_[name] = std::move(inner.json_);
  }
  template <typename T, typename F>
  void optional_group(const char* name, std::optional<T>& value, F&& members) {
    if (value) group(name, [&](Writer& inner) { members(inner, *value); });
  }
  Json take() && { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

/// Takes members from an object; the first that is of another kind is the error.
class Reader {
 public:
  explicit Reader(const Json* json, std::string path = {}) : json_(json), path_(std::move(path)) {}

  void member(const char* name, std::string& text) {
    const Json* found = find(name);
    if (found == nullptr) return;
    if (const std::string* value = found->as_string()) {
      text = *value;
    } else {
      refuse(name, "a text");
    }
  }
  void member(const char* name, std::optional<double>& number) {
    const Json* found = find(name);
    if (found == nullptr) return;
    const std::string* word = found->as_string();
    number = word != nullptr && *word == "inf" ? std::numeric_limits<double>::infinity()
                                               : found->as_number();
    if (!number) refuse(name, "a number");
  }
  void member(const char* name, std::optional<std::int64_t>& number) {
    const Json* found = find(name);
    if (found == nullptr) return;
    number = found->as_integer();
    if (!number) refuse(name, "a whole number");
  }
  template <int E, int T, int M>
  void member(const char* name, std::optional<Quantity<E, T, M>>& quantity) {
    const Json* found = find(name);
    if (found == nullptr) return;
    const auto number = found->as_number();
    if (!number) return refuse(name, "a number");
    quantity = Quantity<E, T, M>(*number);
  }
  void member(const char* name, std::optional<Energy>& energy) {
    const Json* found = find(name);
    if (found == nullptr) return;
    Result<Energy> read = energy_from_json(*found);
    if (!read) return refuse(name, read.error().text());
    energy = std::move(*read);
  }
  void member(const char* name, std::vector<double>& numbers) {
    const Json* found = find(name);
    if (found == nullptr) return;
    if (found->as_array() == nullptr) return refuse(name, "an array of numbers");
    for (const Json& element : *found->as_array()) {
      const auto number = element.as_number();
      if (!number) return refuse(name, "an array of numbers");
      numbers.push_back(*number);
    }
  }
  void member(const char* name, std::vector<std::string>& texts) {
    const Json* found = find(name);
    if (found == nullptr) return;
    if (found->as_array() == nullptr) return refuse(name, "an array of texts");
    for (const Json& element : *found->as_array()) {
      if (element.as_string() == nullptr) return refuse(name, "an array of texts");
      texts.push_back(*element.as_string());
    }
  }
  void member(const char* name, Config& settings) {
    const Json* found = find(name);
    if (found == nullptr) return;
    if (!found->is_object()) return refuse(name, "an object of texts");
    for (const auto& [key, value] : *found->as_object()) {
      if (value.as_string() == nullptr) return refuse(name, "an object of texts");
      settings.set(key, *value.as_string());
    }
  }
  void count(const char* name, std::size_t& number) {
    std::optional<std::int64_t> read;
    member(name, read);
    if (read && *read < 0) return refuse(name, "a count");
    if (read) number = static_cast<std::size_t>(*read);
  }
  void needed_count(const char* name, std::int64_t& number) {
    std::optional<std::int64_t> read;
    member(name, read);
    if (read && *read < 1) return refuse(name, "a count above 0");
    if (read) number = *read;
  }
  void instant(const char* name, std::int64_t& unix_ns) {
    const Json* found = find(name);
    const auto read = found == nullptr ? std::nullopt : found->as_integer();
    if (!read) return refuse(name, "unix time in whole nanoseconds");
    unix_ns = *read;
  }
  template <typename F>
  void group(const char* name, F&& members) {
    const Json* found = find(name);
    if (found == nullptr) return;
    if (!found->is_object()) return refuse(name, "an object");
    Reader inner(found, path_ + name + ".");
    members(inner);
    if (outcome_) outcome_ = std::move(inner.outcome_);
  }
  template <typename T, typename F>
  void optional_group(const char* name, std::optional<T>& value, F&& members) {
    if (find(name) == nullptr) return;
    value.emplace();
    group(name, [&](Reader& inner) { members(inner, *value); });
  }
  Outcome take() && { return std::move(outcome_); }

 private:
  const Json* find(const char* name) const {
    const Json* found = json_->find(name);
    return found == nullptr || found->is_null() ? nullptr : found;
  }
  void refuse(const char* name, std::string_view wanted) {
    if (!outcome_) return;
    outcome_ = Error::invalid_argument(fmt::format("'{}{}' is not right", path_, name),
                                       fmt::format("{} is wanted", wanted));
  }

  const Json* json_;
  std::string path_;
  Outcome outcome_;
};

template <typename V>
void visit_summary(V& visitor, const char* name, LatencySummary& summary) {
  visitor.group(name, [&](V& inner) {
    inner.member("mean_s", summary.mean);
    inner.member("p50_s", summary.p50);
    inner.member("p90_s", summary.p90);
    inner.member("p95_s", summary.p95);
    inner.member("p99_s", summary.p99);
  });
}

template <typename V>
void visit_setting(V& visitor, BenchResult& r) {
  visitor.group("model", [&](V& v) {
    v.member("id", r.model.id);
    v.member("nickname", r.model.nickname);
    v.member("architecture", r.model.architecture);
    v.member("precision", r.model.precision);
    v.member("total_parameters_billions", r.model.total_billions);
    v.member("activated_parameters_billions", r.model.activated_billions);
  });
  visitor.group("engine", [&](V& v) {
    v.member("name", r.engine.name);
    v.member("version", r.engine.version);
  });
  visitor.group("gpus", [&](V& v) {
    v.member("model", r.gpus.model);
    v.member("name", r.gpus.name);
    v.needed_count("count", r.gpus.count);
  });
  visitor.group("parallel", [&](V& v) {
    v.member("tensor", r.parallel.tensor);
    v.member("expert", r.parallel.expert);
    v.member("data", r.parallel.data);
    v.member("pipeline", r.parallel.pipeline);
    v.member("ulysses", r.parallel.ulysses);
    v.member("ring", r.parallel.ring);
  });
  visitor.group("batch", [&](V& v) {
    v.member("max_num_seqs", r.batch.max_num_seqs);
    v.member("size", r.batch.size);
    v.member("mean", r.batch.mean);
  });
  visitor.group("lengths", [&](V& v) {
    v.member("mean_input", r.lengths.mean_input);
    v.member("mean_output", r.lengths.mean_output);
    v.optional_group("outputs", r.lengths.outputs, [](V& inner, LengthHistogram& histogram) {
      inner.member("edges", histogram.edges);
      inner.member("counts", histogram.counts);
    });
  });
  visitor.group("media", [&](V& v) {
    v.member("steps", r.media.steps);
    v.member("height", r.media.height);
    v.member("width", r.media.width);
    v.member("frames", r.media.frames);
    v.member("frames_per_s", r.media.frames_per_s);
  });
  visitor.group("load", [&](V& v) {
    v.member("asked_per_s", r.load.asked_per_s);
    v.member("burstiness", r.load.burstiness);
    v.member("concurrency", r.load.concurrency);
    v.member("delivered_per_s", r.load.delivered_per_s);
    v.member("requests", r.load.requests);
    v.member("completed", r.load.completed);
  });
  visitor.member("settings", r.settings);
}

template <typename V>
void visit_figures(V& visitor, BenchResult& r) {
  visitor.group("energy", [&](V& v) {
    v.member("output_token", r.energy.output_token);
    v.member("total_token", r.energy.total_token);
    v.member("response", r.energy.response);
    v.member("image", r.energy.image);
    v.member("video", r.energy.video);
  });
  visitor.member("power_w", r.power);
  visitor.group("rates_per_s", [&](V& v) {
    v.member("output_tokens", r.rates.output_tokens);
    v.member("total_tokens", r.rates.total_tokens);
    v.member("responses", r.rates.responses);
    v.member("items", r.rates.items);
  });
  visitor.group("latency", [&](V& v) {
    visit_summary(v, "itl", r.latency.itl);
    visit_summary(v, "ttft", r.latency.ttft);
    visit_summary(v, "tpot", r.latency.tpot);
    visit_summary(v, "e2el", r.latency.e2el);
    v.member("batch_s", r.latency.batch);
  });
  visitor.group("goodput", [&](V& v) {
    v.member("share", r.goodput.share);
    v.member("requests_per_s", r.goodput.requests);
    v.member("output_token", r.goodput.output_token);
  });
  visitor.group("quality", [&](V& v) {
    v.member("accuracy", r.quality.accuracy);
    v.member("measure", r.quality.measure);
  });
  visitor.group("evidence", [&](V& v) {
    v.member("window_s", r.evidence.window);
    v.member("sampling_share", r.evidence.sampling_share);
    v.member("instant_low_w", r.evidence.instant_low);
    v.member("instant_high_w", r.evidence.instant_high);
    v.member("average_low_w", r.evidence.average_low);
    v.member("average_high_w", r.evidence.average_high);
    v.member("memory_low_w", r.evidence.memory_low);
    v.member("memory_high_w", r.evidence.memory_high);
    v.member("temperature_outside_share", r.evidence.temperature_outside_share);
    v.member("length_limit_share", r.evidence.length_limit_share);
    v.member("cache_use", r.evidence.cache_use);
    v.member("engine_errors", r.evidence.engine_errors);
  });
}

/// All members, in the order they are written; the one list that both ways go by.
template <typename V>
void visit(V& visitor, BenchResult& r, std::string& kind) {
  visitor.member("benchmark", r.benchmark);
  visitor.member("task", r.task);
  visitor.member("kind", kind);
  visit_setting(visitor, r);
  visit_figures(visitor, r);
  visitor.optional_group("window", r.window, [](V& v, BenchWindow& window) {
    v.instant("begin_unix_ns", window.begin_unix_ns);
    v.instant("end_unix_ns", window.end_unix_ns);
    v.member("known_within_s", window.known_within);
    v.member("source", window.source);
  });
  visitor.group("totals", [&](V& v) {
    v.member("output_tokens", r.totals.output_tokens);
    v.member("input_tokens", r.totals.input_tokens);
    v.member("responses", r.totals.responses);
    v.member("duration_s", r.totals.duration);
  });
  visitor.group("origin", [&](V& v) {
    v.member("file", r.origin.file);
    v.count("row", r.origin.row);
  });
  visitor.member("validity", r.validity);
}

Outcome check(const BenchResult& result) {
  if (result.model.id.empty()) return Error::invalid_argument("'model.id' is missing");
  if (result.task.empty()) return Error::invalid_argument("'task' is missing");
  if (const auto& outputs = result.lengths.outputs;
      outputs && outputs->edges.size() != outputs->counts.size() + 1)
    return Error::invalid_argument("'lengths.outputs' needs one edge more than counts");
  if (!result.window) return {};
  constexpr std::int64_t kLatest = 4'200'000'000'000'000'000;  // the year 2103
  if (result.window->begin_unix_ns < 0 || result.window->end_unix_ns > kLatest)
    return Error::invalid_argument("'window' is not between 1970 and 2103");
  if (result.window->end_unix_ns <= result.window->begin_unix_ns)
    return Error::invalid_argument("'window' ends before it begins");
  return {};
}

}  // namespace

Json to_json(const BenchResult& result) {
  Writer writer;
  writer.member("schema", std::string(kBenchResultSchema));
  BenchResult copy = result;
  std::string kind(name_of(result.kind));
  visit(writer, copy, kind);
  return std::move(writer).take();
}

Result<BenchResult> bench_result_from_json(const Json& json, std::string_view name) {
  const std::string schema = json.string("schema").value_or("");
  if (schema != kBenchResultSchema) {
    return Error::not_supported(fmt::format("{}: schema '{}' is not known", name, schema),
                                fmt::format("{} is wanted", kBenchResultSchema));
  }
  BenchResult result;
  std::string kind = "text";
  Reader reader(&json);
  visit(reader, result, kind);
  const Outcome read = std::move(reader).take();
  if (!read) return fail(read, name);
  if (kind != "text" && kind != "image" && kind != "video") {
    return Error::invalid_argument(fmt::format("{}: unknown kind '{}'", name, kind),
                                   "text, image or video is wanted");
  }
  result.kind = kind == "text"    ? BenchKind::kText
                : kind == "image" ? BenchKind::kImage
                                  : BenchKind::kVideo;
  if (const Outcome checked = check(result); !checked) return fail(checked, name);
  if (result.origin.file.empty()) result.origin.file = name;
  return result;
}

}  // namespace perjoule
