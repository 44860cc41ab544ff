#include "twin/serve_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "base/text.h"

namespace perjoule::twin {
namespace {

/// A label's value in the format: backslash, quote and line end escaped.
std::string label_text(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return text;
}

class Page {
 public:
  explicit Page(std::string_view model)
      : labels_(fmt::format("engine=\"0\",model_name=\"{}\"", label_text(model))) {}

  void gauge(std::string_view name, std::string_view help, double value) {
    begin(name, help, "gauge");
    line(name, "", exact(value));
  }
  /// The name as a counter has it on the page, with its `_total`.
  void counter(std::string_view name, std::string_view help, double value) {
    begin(name, help, "counter");
    line(name, "", exact(value));
  }
  void by_reason(std::string_view name, std::string_view help,
                 const std::array<std::uint64_t, kFinishReasons>& counts) {
    begin(name, help, "counter");
    for (std::size_t i = 0; i < counts.size(); ++i) {
      line(name, fmt::format(",finished_reason=\"{}\"", word_of(static_cast<FinishReason>(i))),
           std::to_string(counts[i]));
    }
  }
  void histogram(std::string_view name, std::string_view help, const ServeHistogram& values) {
    begin(name, help, "histogram");
    const std::string bucket = std::string(name) + "_bucket";
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < values.counts().size(); ++i) {
      below += values.counts()[i];
      const std::string bound = i < values.bounds().size() ? exact(values.bounds()[i]) : "+Inf";
      line(bucket, fmt::format(",le=\"{}\"", bound), std::to_string(below));
    }
    line(std::string(name) + "_sum", "", exact(values.sum()));
    line(std::string(name) + "_count", "", std::to_string(below));
  }

  std::string take() { return std::move(text_); }

 private:
  void begin(std::string_view name, std::string_view help, std::string_view kind) {
    fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                   kind);
  }
  void line(std::string_view name, std::string_view more_labels, std::string_view value) {
    fmt::format_to(std::back_inserter(text_), "{}{{{}{}}} {}\n", name, labels_, more_labels, value);
  }

  std::string labels_;
  std::string text_;
};

double number(std::uint64_t count) { return static_cast<double>(count); }

}  // namespace

void ServeHistogram::add(double value) {
  const auto bound = std::lower_bound(bounds_.begin(), bounds_.end(), value);
  ++counts_[static_cast<std::size_t>(bound - bounds_.begin())];
  sum_ += value;
}

std::uint64_t ServeHistogram::count() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

std::string_view word_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kAbort:
      break;
  }
  return "abort";
}

std::string metrics_page(const ServeCounters& c, const ServeGauges& g, std::string_view model) {
  Page page(model);
  page.gauge("vllm:num_requests_running", "Requests in the running set.", g.running);
  page.gauge("vllm:num_requests_waiting", "Requests that wait for a place in it.", g.waiting);
  page.gauge("vllm:kv_cache_usage_perc", "Share of the KV cache in use, 0 to 1.", g.cache_usage);
  page.counter("vllm:num_preemptions_total", "Requests put back for want of KV cache.",
               number(c.preemptions));
  page.counter("vllm:prompt_tokens_total", "Prompt tokens.", number(c.prompt_tokens));
  page.counter("vllm:generation_tokens_total", "Generated tokens.", number(c.generation_tokens));
  page.counter("vllm:prefix_cache_queries_total", "Tokens looked up in the prefix cache.",
               number(c.prefix_queries));
  page.counter("vllm:prefix_cache_hits_total", "Tokens found there.", number(c.prefix_hits));
  page.by_reason("vllm:request_success_total", "Finished requests by how they ended.", c.finished);
  page.histogram("vllm:time_to_first_token_seconds", "From arrival to the first token.", c.ttft);
  page.histogram("vllm:inter_token_latency_seconds", "Between two tokens.", c.itl);
  page.histogram("vllm:e2e_request_latency_seconds", "From arrival to the last token.", c.e2e);
  page.histogram("vllm:request_queue_time_seconds", "From arrival until scheduled.", c.queue);
  page.histogram("vllm:request_prefill_time_seconds", "From there to the first token.", c.prefill);
  page.histogram("vllm:request_decode_time_seconds", "From there to the last token.", c.decode);
  page.histogram("vllm:request_prompt_tokens", "Prompt tokens of a request.", c.prompt_length);
  page.histogram("vllm:request_generation_tokens", "Generated tokens of a request.",
                 c.answer_length);
  page.counter("perjoule_twin_prefill_steps_total", "Simulated prefill steps.",
               number(c.prefill_steps));
  page.counter("perjoule_twin_decode_steps_total", "Simulated decode steps.",
               number(c.decode_steps));
  page.counter("perjoule_twin_step_seconds_total",
               "Time of all steps by the tables; prefill is synthetic.", g.step_time.value());
  page.counter("perjoule_twin_step_joules_total",
               "Energy of all steps by the tables; prefill is synthetic.", g.step_energy.value());
  return page.take();
}

}  // namespace perjoule::twin
