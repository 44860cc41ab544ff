#include "workload/azure_trace.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "workload/civil_time.h"

namespace perjoule {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 18;
constexpr std::string_view kStampForm = "Y-M-D h:m:s";
constexpr std::array<std::string_view, 3> kColumns = {"TIMESTAMP", "ContextTokens",
                                                      "GeneratedTokens"};

/// The comma's place in `line` from `begin` on, or its end.
std::size_t end_of_cell(std::string_view line, std::size_t begin) {
  return std::min(line.find(',', begin), line.size());
}

}  // namespace

Result<AzureTrace> AzureTrace::open(const std::string& path) {
  AzureTrace trace;
  trace.name_ = path;
  if (path == "-") {
    trace.file_ = FileDescriptor(dup(STDIN_FILENO));
  } else {
    PJ_TRY(trace.file_, open_for_reading(path));
  }
  trace.at_end_ = false;
  PJ_CHECK(trace.read_head());
  return trace;
}

Result<AzureTrace> AzureTrace::of_text(std::string_view text, std::string_view name) {
  AzureTrace trace;
  trace.name_ = name;
  trace.rest_ = text;
  PJ_CHECK(trace.read_head());
  return trace;
}

Result<std::optional<std::string_view>> AzureTrace::next_line() {
  for (;;) {
    const std::size_t end = rest_.find('\n');
    if (end != std::string_view::npos || (at_end_ && !rest_.empty())) {
      std::string_view line = rest_.substr(0, end);
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      ++line_;
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      if (line.empty()) continue;
      return std::optional(line);
    }
    if (at_end_) return std::optional<std::string_view>();
    if (rest_.size() >= kBuffer) {
      return Error::data_loss(name_ + ": line " + std::to_string(line_ + 1) + ": no end in sight",
                              "is this a trace in CSV?");
    }
    std::vector<char> more(rest_.begin(), rest_.end());
    const std::size_t kept = more.size();
    more.resize(kept + kBuffer);
    ssize_t got = -1;
    do got = ::read(file_.get(), more.data() + kept, kBuffer);
    while (got < 0 && errno == EINTR);
    if (got < 0) return Error::unavailable(name_ + ": " + std::strerror(errno));
    more.resize(kept + static_cast<std::size_t>(got));
    buffer_ = std::move(more);
    rest_ = {buffer_.data(), buffer_.size()};
    at_end_ = got == 0;
  }
}

Outcome AzureTrace::read_head() {
  PJ_TRY(const std::optional<std::string_view> head, next_line());
  std::string_view line = head.value_or("");
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  const std::vector<std::string_view> names = split(line, ',');
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const auto found = std::find(names.begin(), names.end(), kColumns[i]);
    if (found == names.end()) {
      return Error::data_loss(name_ + ": no column " + std::string(kColumns[i]) +
                              "; there are: " + std::string(line.substr(0, 200)));
    }
    columns_[i] = static_cast<std::size_t>(found - names.begin());
  }
  return {};
}

Result<std::optional<TokenLengths>> AzureTrace::next() {
  PJ_TRY(const std::optional<std::string_view> line, next_line());
  if (!line) return std::optional<TokenLengths>();
  std::array<std::string_view, 3> cells;
  for (std::size_t column = 0, begin = 0; begin <= line->size(); ++column) {
    const std::size_t end = end_of_cell(*line, begin);
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (columns_[i] == column) cells[i] = line->substr(begin, end - begin);
    begin = end + 1;
  }
  const auto stamp = parse_stamp(cells[0], kStampForm, Seconds(0));
  const auto prompt = parse_integer(cells[1]);
  const auto output = parse_integer(cells[2]);
  if (!stamp || !prompt || !output || *prompt < 0 || *output < 0) {
    return Error::data_loss(name_ + ": line " + std::to_string(line_) +
                            ": no instant and two counts of tokens");
  }
  if (!first_ns_) first_ns_ = *stamp;
  return std::optional(
      TokenLengths{*prompt, *output, Seconds(static_cast<double>(*stamp - *first_ns_) * 1e-9)});
}

Result<std::vector<TokenLengths>> lengths_of_azure_trace(std::string_view text,
                                                         std::string_view name) {
  PJ_TRY(AzureTrace trace, AzureTrace::of_text(text, name));
  std::vector<TokenLengths> lengths;
  for (;;) {
    PJ_TRY(const std::optional<TokenLengths> request, trace.next());
    if (!request) return lengths;
    lengths.push_back(*request);
  }
}

}  // namespace perjoule
