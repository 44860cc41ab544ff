#include "net/promql.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "net/bearer_token.h"
#include "net/http_fetch.h"

namespace perjoule {
namespace {

constexpr std::size_t kLongestAnswer = 256U << 20U;
constexpr std::size_t kWords = 300;

tl::unexpected<Error> not_an_answer(const std::string& what) {
  return Error::data_loss("no answer of a Prometheus server: " + what);
}

std::optional<double> value_of(const Json& json) {
  const std::string* text = json.as_string();
  if (text == nullptr) return std::nullopt;
  if (*text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (*text == "+Inf" || *text == "Inf") return std::numeric_limits<double>::infinity();
  if (*text == "-Inf") return -std::numeric_limits<double>::infinity();
  return parse_number(*text);
}

/// [1435781451.781, "1"]
std::optional<PromPoint> point_of(const Json& json) {
  const Json::Array* pair = json.as_array();
  if (pair == nullptr || pair->size() != 2) return std::nullopt;
  const auto at = (*pair)[0].as_number();
  const auto value = value_of((*pair)[1]);
  if (!at || !std::isfinite(*at) || !value) return std::nullopt;
  return PromPoint{Seconds(*at), *value};
}

Result<PromSeries> series_of(const Json& json) {
  PromSeries series;
  const Json* metric = json.find("metric");
  if (metric == nullptr || !metric->is_object())
    return not_an_answer("a series without its `metric`");
  for (const auto& [name, value] : *metric->as_object()) {
    if (value.as_string() == nullptr) return not_an_answer("a label that is no text: " + name);
    series.labels.push_back({name, *value.as_string()});
  }
  if (json.find("histogram") != nullptr || json.find("histograms") != nullptr)
    return Error::not_supported("a native histogram where numbers are wanted", "ask for its sum");
  const auto add = [&](const Json& pair) {
    const auto point = point_of(pair);
    if (!point) return false;
    if (!series.points.empty() && !(series.points.back().at < point->at)) return false;
    series.points.push_back(*point);
    return true;
  };
  const Json* value = json.find("value");
  const Json* values = json.find("values");
  bool is_whole = value != nullptr && values == nullptr && add(*value);
  if (value == nullptr && values != nullptr && values->is_array()) {
    is_whole = true;
    for (const Json& pair : *values->as_array()) is_whole = is_whole && add(pair);
  }
  if (!is_whole) return not_an_answer("a series whose points are no numbers at rising instants");
  return series;
}

tl::unexpected<Error> refusal(const Json& answer) {
  const std::string type = answer.string("errorType").value_or("");
  const std::string words =
      "Prometheus refused the query: " + answer.string("error").value_or(type).substr(0, kWords);
  if (type == "bad_data") return Error::invalid_argument(words, "look at the label selector");
  if (type == "timeout" || type == "canceled")
    return Error::timeout(words, "ask for a shorter time, or allow more of it");
  if (type == "unavailable") return Error::unavailable(words);
  return Error::internal(words);
}

std::string encoded(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
    if (is_plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return out;
}

/// Milliseconds are what servers keep.
std::string seconds_text(Seconds time) { return fixed(time.value(), 3); }

}  // namespace

std::string_view PromSeries::label(std::string_view name) const {
  for (const MetricLabel& label : labels) {
    if (label.name == name) return label.value;
  }
  return {};
}

Result<PromAnswer> parse_promql_answer(std::string_view json) {
  auto parsed = parse_json(json);
  if (!parsed) return not_an_answer(parsed.error().message);
  const std::string status = parsed->string("status").value_or("");
  if (status == "error") return refusal(*parsed);
  const Json* data = parsed->find("data");
  const Json* result = data == nullptr ? nullptr : data->find("result");
  if (status != "success" || result == nullptr || !result->is_array())
    return not_an_answer("it has no `status` and `data.result`");
  PromAnswer answer;
  if (const Json* warnings = parsed->find("warnings");
      warnings != nullptr && warnings->is_array()) {
    for (const Json& warning : *warnings->as_array()) {
      if (const std::string* words = warning.as_string()) answer.warnings.push_back(*words);
    }
  }
  const std::string type = data->string("resultType").value_or("");
  if (type == "string") return Error::not_supported("a text where numbers are wanted");
  if (type == "scalar") {
    const auto point = point_of(*result);
    if (!point) return not_an_answer("a scalar that is no number");
    answer.series.push_back({{}, {*point}});
    return answer;
  }
  if (type != "vector" && type != "matrix")
    return not_an_answer("a result of type '" + type.substr(0, kWords) + "'");
  for (const Json& one : *result->as_array()) {
    PJ_TRY(PromSeries series, series_of(one));
    answer.series.push_back(std::move(series));
  }
  return answer;
}

Result<PromAnswer> Prometheus::instant(std::string_view query, Seconds at) const {
  return ask("/api/v1/query", "query=" + encoded(query) + "&time=" + seconds_text(at));
}

Result<PromAnswer> Prometheus::range(std::string_view query, Seconds from, Seconds until,
                                     Seconds step) const {
  if (!(step > Seconds(0)) || !(from <= until))
    return Error::invalid_argument("a range of time that does not go forward: from " +
                                   seconds_text(from) + " to " + seconds_text(until) +
                                   " in steps of " + seconds_text(step) + " s");
  return ask("/api/v1/query_range", "query=" + encoded(query) + "&start=" + seconds_text(from) +
                                        "&end=" + seconds_text(until) +
                                        "&step=" + seconds_text(step));
}

Result<PromAnswer> Prometheus::ask(const std::string& path, const std::string& form) const {
  constexpr int kOk = 200;
  constexpr int kUnauthorized = 401;
  constexpr int kForbidden = 403;
  constexpr int kNotFound = 404;
  const std::string where = options_.url.text();
  PJ_TRY(const auto fetcher, HttpFetcher::create(clock_, options_.url, options_.http,
                                                 {options_.timeout, kLongestAnswer}));
  HttpRequest request{.method = "POST", .path = path};
  request.fields = {{"Content-Type", "application/x-www-form-urlencoded"},
                    {"Accept", "application/json"}};
  const std::string& variable = options_.token_variable;
  add_bearer_token(variable, request.fields);
  request.body = std::make_shared<const std::string>(
      form + "&timeout=" + std::to_string(std::llround(options_.timeout.value() * 1e3)) + "ms");
  const auto answer = fetcher->ask(std::move(request));
  if (!answer) {
    Error error = answer.error();
    if (error.code == ErrorCode::kOutOfRange)
      error.remedy = "ask for a shorter time, or for fewer series";
    if (error.code == ErrorCode::kUnavailable)
      error.remedy = "look at the address, and whether the server runs";
    error.message = "Prometheus: " + error.message;
    return tl::unexpected<Error>(std::move(error));
  }
  if (answer->status == kUnauthorized || answer->status == kForbidden)
    return Error::permission_denied(
        "Prometheus lets nobody in without leave: " + where + ": status " +
            std::to_string(answer->status),
        variable.empty() ? "name a variable with a token" : "put a bearer token into " + variable);
  auto parsed = parse_promql_answer(answer->body);
  // Refusals have a status of their own, and the server's words in the body.
  if (answer->status == kOk || (!parsed && parsed.error().code != ErrorCode::kDataLoss))
    return parsed;
  if (answer->status == kNotFound)
    return Error::not_found("no Prometheus API stands there: " + where + path,
                            "give the address that its web page has, without what follows it");
  return Error::unavailable("Prometheus cannot answer: " + where + ": status " +
                            std::to_string(answer->status));
}

}  // namespace perjoule
