#include "twin/serve_fault.h"

#include <array>
#include <cmath>

#include "base/text.h"

namespace perjoule::twin {
namespace {

struct KindWords {
  std::string_view word;
  ServeFaultKind kind;
  std::string_view needs;  // names that must be given
  std::string_view may;    // and those that may
};

constexpr std::array<KindWords, 10> kKinds = {{
    {"multi-token", ServeFaultKind::kMultiToken, "value", ""},
    {"empty-first", ServeFaultKind::kEmptyFirst, "", ""},
    {"reasoning", ServeFaultKind::kReasoning, "value", "field"},
    {"keep-alive", ServeFaultKind::kKeepAlive, "", "value"},
    {"error", ServeFaultKind::kError, "after", ""},
    {"truncate", ServeFaultKind::kTruncate, "after", ""},
    {"busy", ServeFaultKind::kBusy, "", "retry-after"},
    {"stall", ServeFaultKind::kStall, "after length", ""},
    {"no-usage", ServeFaultKind::kNoUsage, "", ""},
    {"split-utf8", ServeFaultKind::kSplitUtf8, "", ""},
}};

constexpr std::int64_t kMost = 1'000'000;
constexpr Seconds kLongest{3600};

bool has_word(std::string_view words, std::string_view word) {
  for (const std::string_view each : split(words, ' ')) {
    if (each == word) return true;
  }
  return false;
}

Outcome read_count(int& into, std::string_view value, std::int64_t least) {
  const auto number = parse_integer(value);
  if (!number || *number < least || *number > kMost) {
    return Error::invalid_argument("not a whole number from " + std::to_string(least) +
                                   " up: " + std::string(value));
  }
  into = static_cast<int>(*number);
  return {};
}

Outcome read_time(Seconds& into, std::string_view value) {
  PJ_TRY(const Seconds time, parse_seconds(value));
  if (time < Seconds(0) || time > kLongest) {
    return Error::invalid_argument("not a time up to an hour: " + std::string(value));
  }
  into = time;
  return {};
}

Outcome read_pair(ServeFault& fault, std::string_view name, std::string_view value) {
  if (name == "every") return read_count(fault.every, value, 1);
  if (name == "value") return read_count(fault.value, value, 1);
  if (name == "after") return read_count(fault.after, value, 0);
  if (name == "length") return read_time(fault.length, value);
  if (name == "retry-after") {
    Seconds time;
    PJ_CHECK(read_time(time, value));
    fault.retry_after_s =
        static_cast<int>(std::ceil(time.value()));  // the header has whole seconds
    return {};
  }
  if (value != "reasoning_content" && value != "reasoning") {
    return Error::invalid_argument("no such field: " + std::string(value),
                                   "use reasoning_content or reasoning");
  }
  fault.field = value;
  return {};
}

Result<const KindWords*> find_kind(std::string_view word) {
  std::string known;
  for (const KindWords& kind : kKinds) {
    if (kind.word == word) return &kind;
    known += (known.empty() ? "" : ", ") + std::string(kind.word);
  }
  return Error::invalid_argument("unknown kind: " + std::string(word), "use " + known);
}

Result<ServeFault> read_fault(std::string_view text) {
  const std::size_t colon = text.find(':');
  PJ_TRY(const KindWords* const kind, find_kind(text.substr(0, colon)));
  ServeFault fault;
  fault.kind = kind->kind;
  std::string given;
  const std::string_view rest =
      colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  for (const std::string_view pair : split(rest, ',')) {
    if (trim(pair).empty()) continue;
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) {
      return Error::invalid_argument("wants name=value: " + std::string(pair));
    }
    const std::string_view name = trim(pair.substr(0, equals));
    if (name != "every" && !has_word(kind->needs, name) && !has_word(kind->may, name)) {
      return Error::invalid_argument("has nothing to do with: " + std::string(name));
    }
    PJ_CHECK(read_pair(fault, name, trim(pair.substr(equals + 1))));
    given += std::string(name) + " ";
  }
  for (const std::string_view name : split(kind->needs, ' ')) {
    if (!name.empty() && !has_word(given, name)) {
      return Error::invalid_argument("wants " + std::string(name) + "=");
    }
  }
  return fault;
}

}  // namespace

Result<ServeFault> parse_serve_fault(std::string_view text) {
  auto fault = read_fault(text);
  if (!fault) return fail(fault, "fault \"" + std::string(text) + "\"");
  return fault;
}

std::vector<ServeFault> faults_of(const std::vector<ServeFault>& faults, std::uint64_t request) {
  std::vector<ServeFault> striking;
  for (const ServeFault& fault : faults) {
    if (request % static_cast<std::uint64_t>(fault.every) == 0) striking.push_back(fault);
  }
  return striking;
}

const ServeFault* find_fault(const std::vector<ServeFault>& faults, ServeFaultKind kind) {
  const ServeFault* found = nullptr;
  for (const ServeFault& fault : faults) {
    if (fault.kind == kind) found = &fault;
  }
  return found;
}

}  // namespace perjoule::twin
