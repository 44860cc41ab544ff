#include "twin/fault.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace perjoule::twin {
namespace {

struct KindWords {
  std::string_view word;
  FaultKind kind;
  std::string_view needs;  // names that must be given
};

constexpr std::array<KindWords, 16> kKinds = {{
    {"return", FaultKind::kReturn, "call code"},
    {"slow", FaultKind::kSlow, "call delay"},
    {"missing", FaultKind::kMissing, "call"},
    {"lost", FaultKind::kLost, "at"},
    {"xid", FaultKind::kXid, "at value"},
    {"reset", FaultKind::kReset, "at"},
    {"freeze", FaultKind::kFreeze, "from"},
    {"step-back", FaultKind::kStepBack, "at value"},
    {"stride", FaultKind::kStride, "value"},
    {"mig", FaultKind::kMig, "value"},
    {"no-permission", FaultKind::kNoPermission, ""},
    {"cap", FaultKind::kCap, "value"},
    {"tick", FaultKind::kTick, "value"},
    {"window", FaultKind::kWindow, "value"},
    {"gaps", FaultKind::kGaps, ""},
    {"driver", FaultKind::kDriver, "value"},
}};

Outcome read_time(Seconds& into, std::string_view value) {
  PJ_TRY(const Seconds time, parse_seconds(value));
  if (time.value() < 0) {
    return Error::invalid_argument("a time before the start: " + std::string(value),
                                   "the machine's time begins at 0s");
  }
  into = time;
  return {};
}

Outcome read_integer(int& into, std::string_view value) {
  const auto number = parse_integer(value);
  if (!number || *number < -1 || *number > 1'000'000) {
    return Error::invalid_argument("not a whole number: " + std::string(value));
  }
  into = static_cast<int>(*number);
  return {};
}

Outcome read_pair(Fault& fault, std::string_view name, std::string_view value) {
  if (name == "gpu") return read_integer(fault.device, value);
  if (name == "code") return read_integer(fault.code, value);
  if (name == "count") return read_integer(fault.count, value);
  if (name == "from" || name == "at") return read_time(fault.from, value);
  if (name == "until") return read_time(fault.until, value);
  if (name == "delay") return read_time(fault.delay, value);
  if (name == "call") {
    fault.call = value;
    return {};
  }
  if (name == "value") {
    fault.text = value;
    const auto number = leading_number(value);
    if (!number || *number < 0) {
      return Error::invalid_argument("not a number: " + std::string(value));
    }
    fault.value = *number;
    return {};
  }
  return Error::invalid_argument("unknown word in a fault: " + std::string(name),
                                 "use gpu, call, code, count, at, from, until, delay or value");
}

}  // namespace

Result<Fault> parse_fault(std::string_view text) {
  const std::string context = "fault \"" + std::string(text) + "\"";
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const KindWords* kind = nullptr;
  for (const KindWords& candidate : kKinds) {
    if (candidate.word == word) kind = &candidate;
  }
  if (kind == nullptr) {
    return Error::invalid_argument(context + ": unknown kind: " + std::string(word),
                                   "docs/twin.md lists the kinds");
  }
  Fault fault;
  fault.kind = kind->kind;
  std::string given = " ";
  const std::string_view rest =
      colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  for (const std::string_view pair : split(rest, ',')) {
    if (trim(pair).empty()) continue;
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) {
      return Error::invalid_argument(context + ": wants name=value: " + std::string(pair));
    }
    const Outcome read =
        read_pair(fault, trim(pair.substr(0, equals)), trim(pair.substr(equals + 1)));
    if (!read) return fail(read, context);
    given += std::string(trim(pair.substr(0, equals))) + " ";
  }
  for (const std::string_view name : split(kind->needs, ' ')) {
    if (!name.empty() && given.find(" " + std::string(name) + " ") == std::string::npos) {
      return Error::invalid_argument(context + ": wants " + std::string(name) + "=");
    }
  }
  return fault;
}

}  // namespace perjoule::twin
