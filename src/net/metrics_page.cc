#include "net/metrics_page.h"

#include <cmath>

#include "base/text.h"

namespace perjoule {
namespace {

std::string_view type_word(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return "counter";
    case MetricKind::kGauge:
      return "gauge";
    case MetricKind::kHistogram:
      return "histogram";
    case MetricKind::kSummary:
      return "summary";
    default:
      return "untyped";
  }
}

void append_escaped(std::string& text, std::string_view value, bool is_label) {
  for (const char c : value) {
    if (c == '\\') {
      text += "\\\\";
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '"' && is_label) {
      text += "\\\"";
    } else {
      text += c;
    }
  }
}

std::string value_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return exact(value);
}

}  // namespace

void MetricsPage::family(std::string_view name, MetricKind kind, std::string_view help) {
  name_ = name;
  text_.append("# HELP ").append(name).append(" ");
  append_escaped(text_, help, false);
  text_.append("\n# TYPE ").append(name).append(" ").append(type_word(kind)).append("\n");
}

void MetricsPage::sample(const Labels& labels, double value) {
  text_ += name_;
  char before = '{';
  for (const auto& [name, word] : labels) {
    text_ += std::exchange(before, ',');
    text_.append(name).append("=\"");
    append_escaped(text_, word, true);
    text_ += '"';
  }
  if (!labels.empty()) text_ += '}';
  text_.append(" ").append(value_text(value)).append("\n");
}

}  // namespace perjoule
