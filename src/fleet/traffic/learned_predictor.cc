#include "fleet/traffic/learned_predictor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "base/json.h"

namespace perjoule {
namespace {

constexpr std::size_t kFewest = 100;
constexpr int kRounds = 2000;
constexpr double kStep = 0.3;
constexpr double kMomentum = 0.9;
constexpr double kPenalty = 1e-5;
constexpr std::string_view kSchema = "perjoule.output_predictor.v1";
// Brings the logarithms to about 1.
constexpr double kTypicalLog = 10;

/// How many requests of one prompt length there are of each output class.
using Counts = std::array<double, kLengthClasses>;

}  // namespace

LearnedPredictor::Features LearnedPredictor::features_of(std::int64_t prompt_tokens) {
  const double power = std::log2(static_cast<double>(std::max<std::int64_t>(1, prompt_tokens)));
  Features features = {};
  features[0] = 1;
  features[1] = power / kTypicalLog;
  features[2] = features[1] * features[1];
  for (std::size_t i = 0; i < kHats; ++i)
    features[3 + i] = std::max(0.0, 1 - std::abs(power - static_cast<double>(i)));
  return features;
}

std::array<double, kLengthClasses> LearnedPredictor::probabilities(
    std::int64_t prompt_tokens) const {
  return shares_of(features_of(prompt_tokens));
}

std::array<double, kLengthClasses> LearnedPredictor::shares_of(const Features& features) const {
  std::array<double, kLengthClasses> share = {};
  for (std::size_t c = 0; c < kLengthClasses; ++c)
    for (std::size_t i = 0; i < kFeatures; ++i) share[c] += weights_[c][i] * features[i];
  const double most = *std::max_element(share.begin(), share.end());
  double sum = 0;
  for (double& one : share) sum += one = std::exp(one - most);
  for (double& one : share) one /= sum;
  return share;
}

Result<LearnedPredictor> LearnedPredictor::train(std::span<const TokenLengths> lengths) {
  std::map<std::int64_t, Counts> by_length;  // in order, so that sums do not depend on the trace's
  double all = 0;
  for (const TokenLengths& one : lengths) {
    if (one.prompt < 1 || one.output < 1) continue;
    by_length[one.prompt][output_class(one.output)] += 1;
    ++all;
  }
  if (all < kFewest)
    return Error::invalid_argument("a predictor needs 100 requests or more to learn from");
  std::vector<std::pair<Features, Counts>> rows;
  rows.reserve(by_length.size());
  for (const auto& [prompt, counts] : by_length) rows.emplace_back(features_of(prompt), counts);
  LearnedPredictor predictor;
  std::array<Features, kLengthClasses> speed = {};
  for (int round = 0; round < kRounds; ++round) {
    std::array<Features, kLengthClasses> gradient = {};
    for (const auto& [features, counts] : rows) {
      const auto share = predictor.shares_of(features);
      const double here = counts[0] + counts[1] + counts[2];
      for (std::size_t c = 0; c < kLengthClasses; ++c) {
        const double error = (here * share[c] - counts[c]) / all;
        for (std::size_t i = 0; i < kFeatures; ++i) gradient[c][i] += error * features[i];
      }
    }
    for (std::size_t c = 0; c < kLengthClasses; ++c) {
      for (std::size_t i = 0; i < kFeatures; ++i) {
        double& weight = predictor.weights_[c][i];
        speed[c][i] = kMomentum * speed[c][i] - kStep * (gradient[c][i] + kPenalty * weight);
        weight += speed[c][i];
      }
    }
  }
  return predictor;
}

std::size_t LearnedPredictor::predict(const FleetRequest& request) {
  const auto share = probabilities(request.prompt);
  return static_cast<std::size_t>(std::max_element(share.begin(), share.end()) - share.begin());
}

LearnedPredictor::Accuracy LearnedPredictor::accuracy(std::span<const TokenLengths> lengths) const {
  Accuracy accuracy;
  LearnedPredictor copy = *this;
  for (const TokenLengths& one : lengths) {
    const std::size_t real = output_class(one.output);
    const std::size_t said = copy.predict({Seconds(0), one.prompt, one.output});
    accuracy.confusion[real][said] += 1;
    accuracy.right += real == said;
    ++accuracy.requests;
  }
  if (accuracy.requests > 0) accuracy.right /= static_cast<double>(accuracy.requests);
  for (auto& row : accuracy.confusion) {
    const double sum = row[0] + row[1] + row[2];
    if (sum > 0)
      for (double& share : row) share /= sum;
  }
  return accuracy;
}

std::string LearnedPredictor::text() const {
  Json json = Json::object();
  json["schema"] = kSchema;
  Json rows = Json::array();
  for (const Features& weights : weights_)
    rows.push_back(Json(Json::Array(weights.begin(), weights.end())));
  json["weights"] = std::move(rows);
  return json.dump(1) + "\n";
}

Result<LearnedPredictor> LearnedPredictor::parse(std::string_view text) {
  PJ_TRY(const Json json, parse_json(text));
  const auto wrong = [] { return Error::data_loss("not an output predictor of perjoule fleet"); };
  if (!json.is_object() || json.string("schema") != kSchema) return wrong();
  const Json* const found = json.find("weights");
  const Json::Array* const rows = found == nullptr ? nullptr : found->as_array();
  if (rows == nullptr || rows->size() != kLengthClasses) return wrong();
  LearnedPredictor predictor;
  for (std::size_t c = 0; c < kLengthClasses; ++c) {
    const Json::Array* const row = (*rows)[c].as_array();
    if (row == nullptr || row->size() != kFeatures) return wrong();
    for (std::size_t i = 0; i < kFeatures; ++i) {
      const std::optional<double> weight = (*row)[i].as_number();
      if (!weight) return wrong();
      predictor.weights_[c][i] = *weight;
    }
  }
  return predictor;
}

}  // namespace perjoule
