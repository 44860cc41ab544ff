#include "net/prometheus_text.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"

namespace perjoule {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// The value of "NaN", "+Inf", "1.5e3"; C notation apart from these words.
std::optional<double> metric_number(std::string_view text) {
  if (const auto number = parse_number(text)) return number;
  const bool negative = !text.empty() && text.front() == '-';
  const bool is_signed = negative || (!text.empty() && text.front() == '+');
  const std::string_view word = text.substr(is_signed ? 1 : 0);
  // C's streams write "-nan" where others write "NaN".
  if (equals_ignoring_case(word, "nan")) return std::numeric_limits<double>::quiet_NaN();
  if (equals_ignoring_case(word, "inf") || equals_ignoring_case(word, "infinity")) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return negative ? -kInfinity : kInfinity;
  }
  return std::nullopt;
}

std::optional<MetricKind> kind_named(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, MetricKind>, 9> kKinds{{
      {"counter", MetricKind::kCounter},
      {"gauge", MetricKind::kGauge},
      {"histogram", MetricKind::kHistogram},
      {"gaugehistogram", MetricKind::kHistogram},
      {"summary", MetricKind::kSummary},
      {"info", MetricKind::kInfo},
      {"stateset", MetricKind::kStateSet},
      {"untyped", MetricKind::kUnknown},
      {"unknown", MetricKind::kUnknown},
  }};
  for (const auto& [name, kind] : kKinds) {
    if (equals_ignoring_case(word, name)) return kind;
  }
  return std::nullopt;
}

/// Name and labels as one text that no other series has: the labels in the order of their names.
std::string series_key(const MetricSample& sample) {
  std::vector<const MetricLabel*> sorted;
  for (const MetricLabel& label : sample.labels) sorted.push_back(&label);
  std::sort(sorted.begin(), sorted.end(),
            [](const MetricLabel* a, const MetricLabel* b) { return a->name < b->name; });
  std::string key = sample.name;
  for (const MetricLabel* label : sorted) {
    // An empty value is as good as no label. Lengths keep a value from looking like another label.
    if (label->value.empty()) continue;
    key += '{' + label->name + '=' + std::to_string(label->value.size()) + ':' + label->value;
  }
  return key;
}

class PageParser {
 public:
  explicit PageParser(std::string_view text) : text_(text) {}

  Result<MetricsText> parse() {
    while (!text_.empty()) {
      ++number_;
      const std::size_t end = text_.find('\n');
      rest_ = text_.substr(0, end);
      const bool cut = end == std::string_view::npos;
      text_.remove_prefix(cut ? text_.size() : end + 1);
      if (cut && trim(rest_) != "# EOF") {
        return Error::data_loss(at_line("the page ends inside a line"),
                                "ask for it again: what came is cut off");
      }
      PJ_CHECK(read_line());
    }
    PJ_CHECK(settle_timestamps());
    return std::move(page_);
  }

 private:
  std::string at_line(std::string_view what) const {
    return "metrics: line " + std::to_string(number_) + ": " + std::string(what);
  }
  tl::unexpected<Error> wrong(std::string_view what) const {
    return Error::invalid_argument(at_line(what));
  }

  void skip_blanks() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  }
  /// Up to the next blank.
  std::string_view take_word() {
    const auto end = std::find_if(rest_.begin(), rest_.end(), is_blank);
    const std::string_view word = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(word.size());
    skip_blanks();
    return word;
  }
  /// A metric's or, without colons, a label's name; empty where none stands here.
  std::string_view take_name(bool colons) {
    std::size_t size = 0;
    while (size < rest_.size() && (is_letter(rest_[size]) || (colons && rest_[size] == ':') ||
                                   (size > 0 && is_digit(rest_[size])))) {
      ++size;
    }
    const std::string_view name = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return name;
  }

  Outcome read_line() {
    skip_blanks();
    if (rest_.empty()) return {};
    if (ended_) return wrong("more behind '# EOF'");
    if (rest_.front() != '#') return read_sample();
    rest_.remove_prefix(1);
    skip_blanks();
    const std::string_view word = take_word();
    if (word == "HELP") return read_help();
    if (word == "TYPE") return read_type();
    if (word == "EOF" && rest_.empty()) ended_ = true;
    return {};  // any other comment, UNIT among them
  }

  Result<MetricFamily*> family() {
    const std::string_view name = take_name(true);
    if (name.empty() || (!rest_.empty() && !is_blank(rest_.front())))
      return wrong("not a metric's name behind HELP or TYPE");
    skip_blanks();
    const auto [at, is_new] = families_.try_emplace(std::string(name), page_.families.size());
    if (is_new) page_.families.push_back({.name = std::string(name), .kind = {}, .help = {}});
    return &page_.families[at->second];
  }

  Outcome read_help() {
    PJ_TRY(MetricFamily * family, this->family());
    if (!helped_.insert(family->name).second)
      return wrong("a second HELP of '" + family->name + "'");
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      char c = rest_[i];
      // Only these two are escapes here; a quote is one in OpenMetrics.
      if (c == '\\' && i + 1 < rest_.size()) {
        const char next = rest_[i + 1];
        if (next == '\\' || next == 'n' || next == '"') {
          c = next == 'n' ? '\n' : next;
          ++i;
        }
      }
      family->help += c;
    }
    return {};
  }

  Outcome read_type() {
    PJ_TRY(MetricFamily * family, this->family());
    if (!typed_.insert(family->name).second)
      return wrong("a second TYPE of '" + family->name + "'");
    if (sampled_.count(family->name) > 0)
      return wrong("TYPE of '" + family->name + "' behind its samples");
    const std::string_view word = take_word();
    const auto kind = kind_named(word);
    if (!kind || !rest_.empty()) return wrong("not a metric's type: '" + std::string(word) + "'");
    family->kind = *kind;
    return {};
  }

  Outcome read_sample() {
    MetricSample sample;
    sample.line = number_;
    sample.name = take_name(true);
    if (sample.name.empty()) return wrong("a metric's name begins with a letter, '_' or ':'");
    if (!rest_.empty() && rest_.front() != '{' && !is_blank(rest_.front()))
      return wrong("not a metric's name: it goes on behind '" + sample.name + "'");
    skip_blanks();
    if (!rest_.empty() && rest_.front() == '{') {
      PJ_TRY(sample.labels, read_labels());
      skip_blanks();
    }
    const std::string_view value = take_word();
    const auto number = metric_number(value);
    if (!number) {
      return wrong("the value of '" + sample.name + "' is not a number: '" + std::string(value) +
                   "'");
    }
    sample.value = *number;
    if (!rest_.empty() && rest_.front() != '#') {
      const std::string_view stamp = take_word();
      const auto time = parse_number(stamp);
      if (!time) return wrong("not a timestamp: '" + std::string(stamp) + "'");
      sample.timestamp = Seconds(*time);
      if (!whole_stamps_broken_ && !parse_integer(stamp)) whole_stamps_broken_ = number_;
    }
    PJ_CHECK(read_exemplar());
    if (!series_.insert(series_key(sample)).second)
      return wrong("a series of '" + sample.name + "' a second time");
    sampled_.insert(sample.name);
    page_.samples.push_back(std::move(sample));
    return {};
  }

  /// "{a="b",c="d"}" with the cursor at its brace; a comma may stand behind the last.
  Result<std::vector<MetricLabel>> read_labels() {
    std::vector<MetricLabel> labels;
    rest_.remove_prefix(1);
    for (;;) {
      skip_blanks();
      if (!rest_.empty() && rest_.front() == '}') break;
      MetricLabel label;
      label.name = take_name(false);
      if (label.name.empty()) return wrong("a label's name begins with a letter or '_'");
      skip_blanks();
      if (rest_.empty() || rest_.front() != '=')
        return wrong("no '=' behind the label '" + label.name + "'");
      rest_.remove_prefix(1);
      skip_blanks();
      PJ_TRY(label.value, read_quoted(label.name));
      for (const MetricLabel& other : labels) {
        if (other.name == label.name) return wrong("the label '" + label.name + "' twice");
      }
      labels.push_back(std::move(label));
      skip_blanks();
      if (!rest_.empty() && rest_.front() == ',') {
        rest_.remove_prefix(1);
      } else if (rest_.empty() || rest_.front() != '}') {
        return wrong("neither ',' nor '}' behind the label '" + labels.back().name + "'");
      }
    }
    rest_.remove_prefix(1);
    return labels;
  }

  Result<std::string> read_quoted(const std::string& label) {
    if (rest_.empty() || rest_.front() != '"')
      return wrong("the value of label '" + label + "' is not in quotes");
    std::string value;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        return value;
      }
      if (rest_[i] != '\\') {
        value += rest_[i];
        continue;
      }
      const char escaped = ++i < rest_.size() ? rest_[i] : '\0';
      if (escaped != '\\' && escaped != '"' && escaped != 'n')
        return wrong("an unknown escape in the value of label '" + label + "'");
      value += escaped == 'n' ? '\n' : escaped;
    }
    return wrong("the quote of label '" + label + "' is not closed");
  }

  /// OpenMetrics' "# {trace_id="x"} 0.5 123.4" behind a sample.
  Outcome read_exemplar() {
    if (rest_.empty()) return {};
    if (rest_.front() != '#') return wrong("more behind the timestamp");
    rest_.remove_prefix(1);
    skip_blanks();
    if (rest_.empty() || rest_.front() != '{') return wrong("no exemplar behind the '#'");
    PJ_TRY(const std::vector<MetricLabel> labels, read_labels());
    skip_blanks();
    if (!metric_number(take_word())) return wrong("the exemplar's value is not a number");
    if (!rest_.empty() && !parse_number(take_word()))
      return wrong("the exemplar's timestamp is not a number");
    if (!rest_.empty()) return wrong("more behind the exemplar");
    return {};
  }

  /// Prometheus stamps in whole milliseconds, OpenMetrics, which ends in "# EOF", in seconds.
  Outcome settle_timestamps() {
    if (ended_) return {};
    if (whole_stamps_broken_) {
      number_ = *whole_stamps_broken_;
      return wrong("a timestamp that is not in whole milliseconds");
    }
    for (MetricSample& sample : page_.samples) {
      if (sample.timestamp) *sample.timestamp /= 1000;
    }
    return {};
  }

  std::string_view text_;  ///< the lines to come
  std::string_view rest_;  ///< of the line being read
  std::size_t number_ = 0;
  bool ended_ = false;
  std::optional<std::size_t> whole_stamps_broken_;  ///< the first line whose stamp has a fraction
  MetricsText page_;
  std::unordered_map<std::string, std::size_t> families_;
  std::unordered_set<std::string> helped_;
  std::unordered_set<std::string> typed_;
  std::unordered_set<std::string> sampled_;
  std::unordered_set<std::string> series_;
};

tl::unexpected<Error> wrong_histogram(std::string_view name, std::size_t line,
                                      std::string_view what) {
  return Error::invalid_argument("metrics: line " + std::to_string(line) + ": histogram '" +
                                 std::string(name) + "': " + std::string(what));
}

/// The labels apart from `le`, as a key.
std::string key_without_bound(const MetricSample& sample) {
  MetricSample copy;
  for (const MetricLabel& label : sample.labels) {
    if (label.name != "le") copy.labels.push_back(label);
  }
  return series_key(copy);
}

}  // namespace

std::string_view MetricSample::label(std::string_view wanted) const {
  for (const MetricLabel& label : labels) {
    if (label.name == wanted) return label.value;
  }
  return {};
}

std::vector<const MetricSample*> MetricsText::named(std::string_view name) const {
  std::vector<const MetricSample*> found;
  for (const MetricSample& sample : samples) {
    if (sample.name == name) found.push_back(&sample);
  }
  return found;
}

const MetricFamily* MetricsText::family_of(std::string_view sample_name) const {
  constexpr std::array<std::string_view, 8> kSuffixes{"",       "_total",   "_bucket", "_sum",
                                                      "_count", "_created", "_info",   "_gsum"};
  for (const std::string_view suffix : kSuffixes) {
    if (sample_name.size() < suffix.size() ||
        sample_name.substr(sample_name.size() - suffix.size()) != suffix)
      continue;
    const std::string_view stem = sample_name.substr(0, sample_name.size() - suffix.size());
    for (const MetricFamily& family : families) {
      if (family.name == stem) return &family;
    }
  }
  return nullptr;
}

Result<MetricsText> parse_metrics_text(std::string_view text) { return PageParser(text).parse(); }

Result<std::vector<MetricHistogram>> histograms_of(const MetricsText& text, std::string_view name) {
  std::vector<MetricHistogram> histograms;
  std::vector<std::size_t> lines;  // the first of each, for messages
  std::unordered_map<std::string, std::size_t> by_key;
  const std::string stem(name);
  for (const MetricSample* sample : text.named(stem + "_bucket")) {
    const auto upper = metric_number(sample->label("le"));
    if (!upper || *upper != *upper)
      return wrong_histogram(name, sample->line, "the bound 'le' is not a number");
    const auto [at, is_new] = by_key.try_emplace(key_without_bound(*sample), histograms.size());
    if (is_new) {
      MetricHistogram& histogram = histograms.emplace_back();
      histogram.sum = std::numeric_limits<double>::quiet_NaN();
      std::copy_if(sample->labels.begin(), sample->labels.end(),
                   std::back_inserter(histogram.labels),
                   [](const MetricLabel& label) { return label.name != "le"; });
      lines.push_back(sample->line);
    }
    histograms[at->second].buckets.push_back({*upper, sample->value});
  }
  for (std::size_t i = 0; i < histograms.size(); ++i) {
    auto& buckets = histograms[i].buckets;
    std::sort(buckets.begin(), buckets.end(),
              [](const auto& a, const auto& b) { return a.upper < b.upper; });
    if (buckets.back().upper != std::numeric_limits<double>::infinity())
      return wrong_histogram(name, lines[i], "it has no bucket of le=\"+Inf\"");
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      const double below = b == 0 ? 0 : buckets[b - 1].count;
      if (!(buckets[b].count >= below) || buckets[b].count > std::numeric_limits<double>::max())
        return wrong_histogram(name, lines[i], "its counts fall from one bound to the next");
      if (b > 0 && buckets[b].upper == buckets[b - 1].upper)
        return wrong_histogram(name, lines[i], "it has one bound twice");
    }
    histograms[i].count = buckets.back().count;
  }
  for (const MetricSample* sample : text.named(stem + "_sum")) {
    if (const auto at = by_key.find(key_without_bound(*sample)); at != by_key.end())
      histograms[at->second].sum = sample->value;
  }
  return histograms;
}

}  // namespace perjoule
