// A predictor of output classes that is learnt from a trace: multinomial logistic regression over
// what a trace tells of a prompt.
//
//   PJ_TRY(const LearnedPredictor predictor, LearnedPredictor::train(lengths));
//   predictor.accuracy(others);           // on requests that it did not see
//   write(path, predictor.text());        // JSON, read again by LearnedPredictor::parse
//
// Features: a constant, the logarithm of the prompt's length, its square, and a hat function over
// each power of two (so that lengths that a service's templates make frequent can be told apart).
// Trained by full-batch gradient descent with momentum on the cross entropy, with a small penalty
// on the weights, so that the same trace gives the same weights. Prompts' texts would tell more:
// DynamoLLM's encoder is a language model, which is another OutputPredictor.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fleet/traffic/output_predictor.h"
#include "workload/azure_trace.h"

namespace perjoule {

class LearnedPredictor final : public OutputPredictor {
 public:
  /// invalid_argument for fewer than 100 requests with tokens. O(requests x features x rounds),
  /// where requests of the same length are one.
  static Result<LearnedPredictor> train(std::span<const TokenLengths> lengths);
  /// What text() wrote; data_loss for anything else.
  static Result<LearnedPredictor> parse(std::string_view text);

  std::size_t predict(const FleetRequest& request) override;
  /// Probability of each output class of a prompt of this length.
  std::array<double, kLengthClasses> probabilities(std::int64_t prompt_tokens) const;
  /// Share of right answers, and how often each real class was called what.
  struct Accuracy {
    double right = 0;
    Confusion confusion = {};
    std::uint64_t requests = 0;
  };
  Accuracy accuracy(std::span<const TokenLengths> lengths) const;
  std::string text() const;

 private:
  static constexpr std::size_t kHats = 18;
  static constexpr std::size_t kFeatures = 3 + kHats;
  using Features = std::array<double, kFeatures>;
  static Features features_of(std::int64_t prompt_tokens);
  std::array<double, kLengthClasses> shares_of(const Features& features) const;

  std::array<Features, kLengthClasses> weights_ = {};
};

}  // namespace perjoule
