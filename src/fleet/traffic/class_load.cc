#include "fleet/traffic/class_load.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace perjoule {
namespace {

LoadCurve nine_classes() {
  LoadCurve load;
  load.classes.clear();
  for (std::size_t i = 0; i < kLoadClasses; ++i)
    load.classes.emplace_back(name_of_class(static_cast<LoadClass>(i)));
  return load;
}

std::size_t class_of(const FleetRequest& request, OutputPredictor& predictor) {
  return load_class(input_class(request.prompt), predictor.predict(request));
}

bool is_load(std::int64_t prompt, std::int64_t output, std::int64_t most_tokens) {
  return prompt > 0 && output > 0 && prompt <= most_tokens && output <= most_tokens - prompt;
}

}  // namespace

Result<LoadCurve> class_load_of(RequestStream& stream, Seconds bin, OutputPredictor& predictor,
                                std::int64_t most_tokens) {
  LoadCurve load = nine_classes();
  for (;;) {
    PJ_TRY(const std::optional<FleetRequest> request, stream.next());
    if (!request) break;
    const auto at = static_cast<std::size_t>(std::max(0.0, request->arrival / bin));
    while (load.bins.size() <= at) {
      load.bins.push_back({bin * static_cast<double>(load.bins.size()), bin,
                           std::vector<double>(kLoadClasses, 0.0)});
    }
    if (!is_load(request->prompt, request->output, most_tokens)) continue;
    load.bins[at].tokens_per_s[class_of(*request, predictor)] +=
        static_cast<double>(request->prompt) / bin.value();
  }
  if (load.bins.empty()) return Error::data_loss("the load has no request");
  return load;
}

LoadCurve class_load_of(const std::vector<RateBin>& rates, std::span<const TokenLengths> lengths,
                        OutputPredictor& predictor, std::int64_t most_tokens) {
  std::vector<double> tokens(kLoadClasses, 0.0);  // of a request, in the mean
  for (const TokenLengths& one : lengths) {
    if (!is_load(one.prompt, one.output, most_tokens)) continue;
    tokens[class_of({Seconds(0), one.prompt, one.output}, predictor)] +=
        static_cast<double>(one.prompt) / static_cast<double>(lengths.size());
  }
  LoadCurve load = nine_classes();
  for (const RateBin& rate : rates) {
    LoadBin bin{rate.begin, rate.end - rate.begin, tokens};
    for (double& one : bin.tokens_per_s) one *= rate.rate.value();
    load.bins.push_back(std::move(bin));
  }
  return load;
}

std::vector<RateBin> rate_bins_of(const LoadCurve& requests) {
  const Seconds begin = requests.bins.front().start;
  std::vector<RateBin> bins;
  for (const LoadBin& bin : requests.bins) {
    bins.push_back(
        {bin.start - begin, bin.start + bin.duration - begin, Hertz(bin.tokens_per_s.front())});
  }
  return bins;
}

ClassLoads peak_of(const LoadCurve& load) {
  ClassLoads most = {};
  for (const LoadBin& bin : load.bins) {
    for (std::size_t i = 0; i < kLoadClasses; ++i) most[i] = std::max(most[i], bin.tokens_per_s[i]);
  }
  return most;
}

double peak_of_all(const LoadCurve& load) {
  double most = 0;
  for (const LoadBin& bin : load.bins) {
    most = std::max(most, std::accumulate(bin.tokens_per_s.begin(), bin.tokens_per_s.end(), 0.0));
  }
  return most;
}

}  // namespace perjoule
