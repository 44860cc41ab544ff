#include "cli/bench_load.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/file.h"
#include "base/text.h"
#include "net/bearer_token.h"
#include "net/http_fetch.h"
#include "serving/load/arrivals.h"
#include "serving/load/bench_task.h"

namespace perjoule::cli {
namespace {

constexpr double kLongestRun = 1e8;      // s
constexpr std::uint64_t kSeed = 48'105;  // ML.ENERGY's

/// Without the mark that some editors put before UTF-8.
Result<std::string> whole_file(const std::string& path) {
  auto text = read_file(path);
  if (!text) return fail(text, path);
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text->compare(0, kMark.size(), kMark) == 0) text->erase(0, kMark.size());
  return std::move(*text);
}

/// A file of the user's that is malformed is words that make no sense.
template <typename T>
Result<T> given(Result<T> read) {
  if (read || read.error().code != ErrorCode::kDataLoss) return read;
  return Error::invalid_argument(read.error().message, read.error().remedy);
}

/// The server's address without the "/v1" that clients are used to write.
Result<HttpUrl> server_url(const Arguments& arguments) {
  if (!arguments.has("url")) {
    return Error::invalid_argument("no server to ask",
                                   "--url http://localhost:8000, or a command behind --");
  }
  auto url = HttpUrl::parse(arguments.value("url"));
  if (!url) return fail(url, "--url");
  constexpr std::string_view kVersion = "/v1";
  if (url->path.size() >= kVersion.size() &&
      url->path.compare(url->path.size() - kVersion.size(), kVersion.size(), kVersion) == 0)
    url->path.resize(url->path.size() - kVersion.size());
  return std::move(*url);
}

/// The one model that the server has.
Result<std::string> asked_model(const HttpUrl& url, const HttpClientOptions& http,
                                const std::string& token_variable) {
  const RealClock clock;
  PJ_TRY(const auto fetcher, HttpFetcher::create(clock, url, http));
  std::vector<HttpField> fields;
  add_bearer_token(token_variable, fields);
  PJ_TRY(const HttpPage page, fetcher->get("/v1/models", fields));
  const auto say = [&](const std::string& what) {
    return Error::unavailable(url.text() + "/v1/models: " + what, "--model names the model");
  };
  if (page.status != 200) return say(fmt::format("status {}", page.status));
  const auto json = parse_json(page.body);
  const Json* data = json ? json->find("data") : nullptr;
  if (data == nullptr || data->as_array() == nullptr || data->as_array()->empty())
    return say("no list of models");
  // Servers that answer to several names of one model list them all; the first is as good.
  const auto id = (*data->as_array())[0].string("id");
  return id ? Result<std::string>(*id) : say("a model without an id");
}

struct PromptWords {
  std::vector<Prompt> prompts;
  bool takes_lengths = false;
};

class LoadReader {
 public:
  explicit LoadReader(const Arguments& arguments) : arguments_(arguments) {}

  Result<BenchLoadPlan> read() {
    PJ_TRY(const auto seed, read_count(arguments_, "seed", 0));
    seed_ = seed ? static_cast<std::uint64_t>(*seed) : kSeed;
    if (arguments_.has("task")) {
      PJ_TRY(task_, bench_task(arguments_.value("task")));
      is_preset_ = true;
    }
    plan_.task = is_preset_ ? std::string(task_.published.empty() ? task_.name : task_.published)
                            : std::string("custom");
    PJ_CHECK(read_client());
    PJ_TRY(plan_.options.url, server_url(arguments_));
    if (arguments_.has("model")) {
      plan_.model = arguments_.value("model");
    } else {
      PJ_TRY(plan_.model,
             asked_model(plan_.options.url, plan_.options.http, plan_.options.token_variable));
    }
    PJ_TRY(PromptWords words, read_prompts());
    PJ_CHECK(read_shape(words.takes_lengths));
    PJ_CHECK(read_load(words.prompts));
    auto set = make_requests(words.prompts, shape_);
    if (!set) return fail(set);
    plan_.set = std::move(*set);
    return std::move(plan_);
  }

 private:
  Outcome read_client() {
    LoadOptions& options = plan_.options;
    options.token_variable = arguments_.value("token-variable");
    options.http.tls.verifies = !arguments_.has("insecure");
    options.http.tls.authorities = arguments_.value("ca");
    const auto time = [&](const char* name, auto& into) -> Outcome {
      PJ_TRY(const auto value, arguments_.read<Seconds>(name, parse_seconds));
      if (!value) return {};
      if (!(value->value() > 0))
        return Error::invalid_argument(
            fmt::format("--{} {}: not above 0", name, arguments_.value(name)));
      into = *value;
      return {};
    };
    PJ_CHECK(time("first-token-timeout", options.timeouts.first_token));
    PJ_CHECK(time("token-timeout", options.timeouts.inter_token));
    PJ_CHECK(time("request-timeout", options.timeouts.total));
    PJ_CHECK(time("for", options.send_for));
    PJ_CHECK(time("drain", options.drain));
    PJ_CHECK(time("most-delay", options.most_delay));
    PJ_TRY(const auto retries, read_count(arguments_, "retries", 0));
    options.most_retries = static_cast<int>(retries.value_or(0));
    PJ_TRY(const auto warm_up, read_count(arguments_, "warm-up", 0));
    options.warm_up = static_cast<std::size_t>(warm_up.value_or(0));
    return {};
  }

  /// How many requests are wanted; none: as many as the data has, or the task's.
  Result<std::optional<std::size_t>> wanted() const {
    PJ_TRY(const auto requests, read_count(arguments_, "requests"));
    if (requests) return std::optional<std::size_t>(static_cast<std::size_t>(*requests));
    if (is_preset_) return std::optional<std::size_t>(task_.requests);
    return std::optional<std::size_t>();
  }

  Result<PromptWords> read_prompts() {
    const bool has_laws = arguments_.has("input-tokens") || arguments_.has("output-tokens");
    const int sources = (arguments_.has("prompts") ? 1 : 0) + (arguments_.has("azure") ? 1 : 0) +
                        (has_laws ? 1 : 0);
    if (sources > 1) {
      return Error::invalid_argument(
          "--prompts, --azure and --input-tokens with --output-tokens cannot go together");
    }
    PJ_TRY(count_, wanted());
    if (arguments_.has("prompts")) return prompts_of_file(arguments_.value("prompts"));
    if (arguments_.has("azure")) return prompts_of_azure(arguments_.value("azure"));
    if (has_laws || (is_preset_ && task_.has_made_prompts)) return prompts_of_laws();
    if (is_preset_) {
      return Error::invalid_argument(
          fmt::format("the task {} needs prompts, and nothing is downloaded", task_.name),
          "--prompts FILE: JSONL or ShareGPT-shaped JSON of yours");
    }
    return Error::invalid_argument(
        "no prompts to send",
        "--prompts FILE, --azure FILE, or --input-tokens 500 --output-tokens 200");
  }

  Result<PromptWords> prompts_of_file(const std::string& path) {
    PJ_TRY(const std::string text, whole_file(path));
    PromptWords words;
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && text[first] == '[') {
      PJ_TRY(ShareGptPrompts read,
             given(prompts_of_sharegpt(text, path, arguments_.has("every-turn"))));
      words.prompts = std::move(read.prompts);
      if (read.skipped > 0)
        plan_.notes.push_back(
            fmt::format("{}: {} without an answered question left out", path,
                        counted(static_cast<double>(read.skipped), "conversation")));
    } else {
      PJ_TRY(words.prompts, given(prompts_of_jsonl(text, path)));
    }
    if (is_trace()) return words;  // each at its own moment, in the file's order
    if (count_) words.prompts = drawn_prompts(std::move(words.prompts), *count_, seed_);
    return words;
  }

  PromptForm form() const {
    return endpoint_ == Endpoint::kCompletions ? PromptForm::kTokenIds : PromptForm::kWords;
  }

  Result<PromptWords> prompts_of_azure(const std::string& path) {
    PJ_TRY(const std::string text, whole_file(path));
    PJ_TRY(std::vector<TokenLengths> lengths, given(lengths_of_azure_trace(text, path)));
    if (count_ && *count_ < lengths.size()) lengths.resize(*count_);
    PJ_CHECK(read_endpoint());
    return PromptWords{prompts_of_lengths(lengths, form(), seed_), true};
  }

  Result<PromptWords> prompts_of_laws() {
    LengthLaw prompt = task_.prompt;
    LengthLaw output = task_.output;
    if (!task_.has_made_prompts &&
        !(arguments_.has("input-tokens") && arguments_.has("output-tokens"))) {
      return Error::invalid_argument("made prompts need both lengths",
                                     "--input-tokens 500 --output-tokens exponential:300");
    }
    if (arguments_.has("input-tokens")) {
      PJ_TRY(prompt, parse_length_law(arguments_.value("input-tokens")));
    }
    if (arguments_.has("output-tokens")) {
      PJ_TRY(output, parse_length_law(arguments_.value("output-tokens")));
    }
    PJ_TRY(const std::size_t count, made_count());
    PJ_TRY(const auto lengths, drawn_lengths(prompt, output, count, seed_));
    PJ_CHECK(read_endpoint());
    return PromptWords{prompts_of_lengths(lengths, form(), seed_), true};
  }

  /// Of made prompts there is no end: as many as are sent.
  Result<std::size_t> made_count() const {
    if (count_) return *count_;
    PJ_TRY(const auto rate, read_positive(arguments_, "rate"));
    PJ_TRY(const auto time, arguments_.read<Seconds>("for", parse_seconds));
    if (rate && time) return static_cast<std::size_t>(std::ceil(*rate * time->value())) + 1;
    return Error::invalid_argument("how many requests is not said",
                                   "--requests N, or --rate R --for TIME");
  }

  Outcome read_endpoint() {
    const std::string word = arguments_.value("endpoint");
    endpoint_ = word.empty()            ? (is_preset_ ? task_.endpoint : Endpoint::kChat)
                : word == "completions" ? Endpoint::kCompletions
                                        : Endpoint::kChat;
    if (!word.empty() && word != "chat" && word != "completions")
      return Error::invalid_argument("--endpoint " + word + ": chat or completions is wanted");
    return {};
  }

  Outcome read_shape(bool takes_lengths) {
    PJ_CHECK(read_endpoint());
    shape_.endpoint = endpoint_;
    shape_.model = plan_.model;
    shape_.takes_lengths = takes_lengths || arguments_.value("max-tokens") == "dataset";
    if (!shape_.takes_lengths || arguments_.value("max-tokens") != "dataset") {
      if (arguments_.has("max-tokens") && arguments_.value("max-tokens") != "dataset") {
        PJ_TRY(shape_.max_tokens, read_count(arguments_, "max-tokens"));
      } else if (is_preset_) {
        shape_.max_tokens = task_.max_tokens;
      }
    }
    // A made answer is of its length, else it is none of the law's.
    shape_.has_fixed_length =
        takes_lengths ? !arguments_.has("may-end-early") : arguments_.has("fixed-length");
    shape_.is_streamed = !arguments_.has("no-stream");
    shape_.wants_running_usage = !arguments_.has("no-running-usage");
    shape_.has_old_names = arguments_.has("old-names");
    if (is_preset_) shape_.more = bench_sampling();
    if (arguments_.has("body")) {
      const auto more = parse_json(arguments_.value("body"));
      if (!more || !more->is_object())
        return Error::invalid_argument("--body: not a JSON object", R"(--body '{"top_k": 20}')");
      for (const auto& [name, value] : *more->as_object()) shape_.more[name] = value;
    }
    return {};
  }

  bool is_trace() const { return arguments_.has("replay"); }

  Outcome read_load(const std::vector<Prompt>& prompts) {
    PJ_TRY(const auto rate, read_positive(arguments_, "rate"));
    PJ_TRY(const auto concurrency, read_count(arguments_, "concurrency"));
    PJ_TRY(const auto burstiness, read_positive(arguments_, "burstiness"));
    PJ_TRY(const auto speed, read_positive(arguments_, "speed"));
    const int kinds = (rate ? 1 : 0) + (concurrency ? 1 : 0) + (is_trace() ? 1 : 0);
    if (kinds > 1)
      return Error::invalid_argument("--rate, --concurrency and --replay cannot go together");
    if (!rate && (burstiness || arguments_.has("constant") || arguments_.has("exact-mean")))
      return Error::invalid_argument("--burstiness, --constant and --exact-mean are of a --rate");
    if (speed && !is_trace()) return Error::invalid_argument("--speed is of a --replay");
    if (arguments_.has("constant") && burstiness)
      return Error::invalid_argument("--constant and --burstiness cannot go together");
    const std::size_t count = count_.value_or(prompts.size());
    plan_.stated.requests = static_cast<std::int64_t>(count);
    if (concurrency) {
      plan_.stated.concurrency = concurrency;
      plan_.options.load = ClosedLoad{static_cast<std::size_t>(*concurrency), count};
      return {};
    }
    Arrivals arrivals;
    plan_.stated.asked_per_s = rate.value_or(std::numeric_limits<double>::infinity());
    if (rate) {
      arrivals.law = arguments_.has("constant") ? ArrivalLaw::kConstant
                     : burstiness               ? ArrivalLaw::kGamma
                                                : ArrivalLaw::kPoisson;
      arrivals.rate = Hertz(*rate);
      arrivals.burstiness = burstiness.value_or(1);
      arrivals.has_exact_mean = arguments_.has("exact-mean");
      if (!arguments_.has("constant")) plan_.stated.burstiness = arrivals.burstiness;
    } else if (is_trace()) {
      arrivals.law = ArrivalLaw::kTrace;
      arrivals.speed = speed.value_or(1);
      for (const Prompt& prompt : prompts) {
        if (!prompt.arrival) {
          return Error::invalid_argument("--replay: not every request has its moment",
                                         "a JSONL needs \"timestamp\" in seconds on each line");
        }
        arrivals.trace.push_back(*prompt.arrival);
      }
      plan_.stated.asked_per_s.reset();
    }
    PJ_TRY(std::vector<Seconds> times, arrival_times(arrivals, count, seed_));
    if (!times.empty() && times.back().value() > kLongestRun)
      return Error::invalid_argument("the load would last longer than three years");
    if (is_trace() && times.back().value() > 0)
      plan_.stated.asked_per_s = static_cast<double>(count) / times.back().value();
    plan_.options.load = OpenLoad{std::move(times)};
    return {};
  }

  const Arguments& arguments_;
  BenchLoadPlan plan_;
  BenchTask task_;
  bool is_preset_ = false;
  std::uint64_t seed_ = kSeed;
  std::optional<std::size_t> count_;
  Endpoint endpoint_ = Endpoint::kChat;
  RequestShape shape_;
};

}  // namespace

Result<std::optional<std::int64_t>> read_count(const Arguments& arguments, std::string_view option,
                                               std::int64_t least) {
  const std::string text = arguments.value(option);
  if (text.empty()) return std::optional<std::int64_t>();
  const auto number = parse_integer(text);
  if (number && *number >= least && *number <= 1'000'000'000) return number;
  return Error::invalid_argument(
      fmt::format("--{} {}: not a whole number from {} on", option, text, least));
}

Result<std::optional<double>> read_positive(const Arguments& arguments, std::string_view option) {
  const std::string text = arguments.value(option);
  if (text.empty()) return std::optional<double>();
  const auto number = parse_number(text);
  if (number && *number > 0) return number;
  return Error::invalid_argument(fmt::format("--{} {}: not a number above 0", option, text));
}

Result<BenchLoadPlan> read_bench_load(const Arguments& arguments) {
  return LoadReader(arguments).read();
}

std::vector<Option> bench_load_options() {
  return {
      {"url", "URL", "the server: http://localhost:8000, https too"},
      {"model", "NAME", "the model to ask for; the server's first where it is left out"},
      {"task", "TASK",
       "a preset of the ML.ENERGY benchmark: chat, reasoning, code, image-chat, video-chat, "
       "audio-chat, length-control"},
      {"prompts", "FILE", "JSONL with messages or prompt, or ShareGPT-shaped JSON"},
      {"every-turn", "", "of a ShareGPT file every question, with what went before it"},
      {"azure", "FILE", "lengths (and, with --replay, arrivals) of Azure's LLM inference traces"},
      {"input-tokens", "LAW",
       "made prompts: 500, uniform:500:100, exponential:300, pareto:500:2.5, lognormal:500:0.8; "
       "<4096 behind it bounds it"},
      {"output-tokens", "LAW", "and how long their answers are"},
      {"requests", "N", "how many to send; all of the file, or the task's, where it is left out"},
      {"rate", "R", "open load: so many requests a second, whatever the server does (Poisson)"},
      {"burstiness", "K", "gaps of a gamma law of this shape; 1 is Poisson, below it is burstier"},
      {"constant", "", "even gaps"},
      {"exact-mean", "", "stretch the gaps so that the last request comes at N / R exactly"},
      {"replay", "", "open load: each request at the moment its file tells"},
      {"speed", "X", "replay so many times as fast"},
      {"concurrency", "N", "closed load: so many requests open, the next when one ends"},
      {"for", "TIME", "send nothing any more after this long"},
      {"warm-up", "N", "so many requests first, that are not counted"},
      {"drain", "TIME", "cancel what is still open so long after the last sending"},
      {"endpoint", "NAME", "chat or completions"},
      {"max-tokens", "N", "longest answer; dataset: as the file has it"},
      {"fixed-length", "", "each answer exactly so long (ignore_eos and min_tokens)"},
      {"may-end-early", "", "answers to made prompts may be shorter than the law says"},
      {"no-stream", "", "answers in one piece: no times to first token"},
      {"no-running-usage", "", "do not ask for a count in every chunk (not all servers know it)"},
      {"old-names", "", "max_tokens in chats, for servers of before 2024-09"},
      {"body", "JSON", "more for each request: '{\"temperature\": 0.8}'"},
      {"seed", "N", "of everything that is drawn", "48105"},
      {"token-variable", "NAME", "the variable that holds the bearer token", "OPENAI_API_KEY"},
      {"ca", "FILE", "trust these authorities (PEM) in place of the system's"},
      {"insecure", "", "trust any certificate"},
      {"first-token-timeout", "TIME", "a request without its first token by then has failed"},
      {"token-timeout", "TIME", "and one with a longer pause between two chunks"},
      {"request-timeout", "TIME", "and one that is longer"},
      {"retries", "N", "send a request that is refused for now (429, 503) so often again", "0"},
      {"most-delay", "TIME", "the client's own delay (P99) above which the run is void", "10ms"},
  };
}

}  // namespace perjoule::cli
