// The nine classes of requests by how long they are, and when their tokens are due: DynamoLLM's.
//
//   const LoadClass one = class_of({1020, 129});          // MM
//   name_of(one);                                         // "MM"
//   const ServiceLevel due = dynamo_levels()[one];        // first token within 400 ms, gaps 100 ms
//
// Input: below 256 tokens short, below 1,024 medium, else long; output: below 100, below 350.
// Source: DynamoLLM (HPCA 2025, arXiv 2408.00741), tables I and II as quoted by others; the
// thresholds are the 33rd and 66th percentiles of a production trace.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.h"

namespace perjoule {

inline constexpr std::size_t kLengthClasses = 3;
inline constexpr std::size_t kLoadClasses = kLengthClasses * kLengthClasses;

/// Short, medium, long: 0, 1, 2.
std::size_t input_class(std::int64_t prompt_tokens);
std::size_t output_class(std::int64_t output_tokens);
/// The output tokens of a class end before these; none for the longest.
std::optional<std::int64_t> output_bound(std::size_t output_class);

/// Input class times three plus output class: SS SM SL MS MM ML LS LM LL.
using LoadClass = std::uint8_t;
inline LoadClass load_class(std::size_t input, std::size_t output) {
  return static_cast<LoadClass>(input * kLengthClasses + output);
}
inline std::size_t input_of(LoadClass one) { return one / kLengthClasses; }
inline std::size_t output_of(LoadClass one) { return one % kLengthClasses; }
std::string_view name_of_class(LoadClass one);
/// "mm" as well; none for what is no class.
std::optional<LoadClass> class_named(std::string_view name);

/// Whether an instance that is made for `larger` may serve `one`: no length of it is longer.
inline bool dominates(LoadClass larger, LoadClass one) {
  return input_of(larger) >= input_of(one) && output_of(larger) >= output_of(one);
}

/// What is promised to a request.
struct ServiceLevel {
  Seconds first_token = {};     ///< TTFT at most
  Seconds between_tokens = {};  ///< TBT at most
};
using ServiceLevels = std::array<ServiceLevel, kLoadClasses>;
/// 250, 400 and 2,000 ms to the first token by input class, 100 ms between tokens.
ServiceLevels dynamo_levels();

}  // namespace perjoule
