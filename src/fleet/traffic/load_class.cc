#include "fleet/traffic/load_class.h"

#include "base/text.h"

namespace perjoule {
namespace {

constexpr std::array<std::int64_t, 2> kInputBounds = {256, 1024};
constexpr std::array<std::int64_t, 2> kOutputBounds = {100, 350};
constexpr std::array<std::string_view, kLoadClasses> kNames = {"SS", "SM", "SL", "MS", "MM",
                                                               "ML", "LS", "LM", "LL"};
constexpr std::array<double, kLengthClasses> kFirstTokenMs = {250, 400, 2000};
constexpr double kBetweenTokensMs = 100;

std::size_t length_class(std::int64_t tokens, const std::array<std::int64_t, 2>& bounds) {
  if (tokens < bounds[0]) return 0;
  return tokens < bounds[1] ? 1 : 2;
}

}  // namespace

std::size_t input_class(std::int64_t prompt_tokens) {
  return length_class(prompt_tokens, kInputBounds);
}

std::size_t output_class(std::int64_t output_tokens) {
  return length_class(output_tokens, kOutputBounds);
}

std::optional<std::int64_t> output_bound(std::size_t output_class) {
  if (output_class < kOutputBounds.size()) return kOutputBounds[output_class];
  return std::nullopt;
}

std::string_view name_of_class(LoadClass one) { return kNames[one]; }

std::optional<LoadClass> class_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (equals_ignoring_case(kNames[i], name)) return static_cast<LoadClass>(i);
  return std::nullopt;
}

ServiceLevels dynamo_levels() {
  ServiceLevels levels;
  for (std::size_t i = 0; i < kLoadClasses; ++i) {
    levels[i].first_token = Seconds(kFirstTokenMs[input_of(static_cast<LoadClass>(i))] * 1e-3);
    levels[i].between_tokens = Seconds(kBetweenTokensMs * 1e-3);
  }
  return levels;
}

}  // namespace perjoule
