// The engine against a real one: vLLM 0.19.0 serving Llama-3.1-8B on an RTX PRO 6000, 300 requests,
// recorded by LLMServingSim's authors. One constant, the host's time a step, is fitted on the first
// 100 requests' time per output token; all else is judged on the other 200.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/test_data.h"
#include "fleet/engine/instance.h"
#include "fleet/engine/operator_steps.h"
#include "math/log_histogram.h"

namespace perjoule {
namespace {

struct Served {
  double arrival = 0;
  std::int64_t prompt = 0;
  std::int64_t output = 0;
  double ttft = 0;
  double tpot = 0;
};

std::vector<Served> measured_run(const std::string& text) {
  std::vector<Served> all;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const auto line = parse_json(text.substr(begin, end - begin));
    EXPECT_TRUE(line);
    begin = end + 1;
    const auto number = [&](const char* name) { return line->number(name).value_or(NAN); };
    const double queued = number("queued_ts");
    const double first = number("first_token_ts");
    Served one{queued, static_cast<std::int64_t>(number("input_toks")),
               static_cast<std::int64_t>(number("output_toks")), first - queued, 0};
    one.tpot = (number("last_token_ts") - first) / static_cast<double>(one.output - 1);
    all.push_back(one);
  }
  for (std::size_t i = all.size(); i-- > 0;) all[i].arrival -= all[0].arrival;
  return all;
}

class Recorder final : public EngineSink {
 public:
  Recorder(LiveRequests& live, std::vector<Served>& served) : live_(live), served_(served) {}
  void gaps(std::size_t, Seconds, std::int64_t) override {}
  void ended(RequestSlot slot, RequestEnd end, Seconds when) override {
    ASSERT_EQ(end, RequestEnd::kDone);
    const LiveRequest& request = live_[slot];
    Served& one = served_[request.number];
    one.ttft = (request.first_token - request.arrival).value();
    one.tpot = (when - request.first_token).value() / static_cast<double>(request.output - 1);
    live_.release(slot);
  }

 private:
  LiveRequests& live_;
  std::vector<Served>& served_;
};

std::vector<Served> simulated(const std::vector<Served>& run, const StepModel& model) {
  std::vector<Served> served = run;
  LiveRequests live;
  Recorder recorder(live, served);
  Instance instance(model, {.most_running = 128, .step_tokens = 2048}, live, recorder, Seconds(0));
  for (std::size_t i = 0; i < run.size(); ++i) {
    instance.advance(Seconds(run[i].arrival));
    LiveRequest request;
    request.arrival = Seconds(run[i].arrival);
    request.number = i;
    request.prompt = run[i].prompt;
    request.output = run[i].output;
    instance.take(live.add(request));
  }
  instance.advance(Seconds(1e6));
  EXPECT_TRUE(instance.is_idle());
  EXPECT_EQ(live.alive(), 0U);
  return served;
}

double mean(const std::vector<Served>& all, double Served::*figure, std::size_t from,
            std::size_t until) {
  double sum = 0;
  for (std::size_t i = from; i < until; ++i) sum += all[i].*figure;
  return sum / static_cast<double>(until - from);
}

TEST(OperatorStepsGoldenTest, AMeasuredRunOfVllm) {
  constexpr std::size_t kFitted = 100;
  PJ_TEST_DATA(path, "serving/llmservingsim/RTXPRO6000_Llama-3.1-8B_vllm_requests.jsonl");
  const std::string stem = path.substr(0, path.rfind("vllm_requests"));
  const std::vector<Served> run = measured_run(read_file(path).value());
  ASSERT_EQ(run.size(), 300U);
  const std::string dense = read_file(stem + "tp1_dense.csv").value();
  const std::string attention = read_file(stem + "tp1_attention.csv").value();
  const std::string heads = read_file(stem + "tp1_per_sequence.csv").value();
  const auto with_overhead = [&](double seconds) {
    auto model = operator_steps({dense, attention, heads}, {.overhead = Seconds(seconds)});
    EXPECT_TRUE(model) << model.error().text();
    return simulated(run, **model);
  };
  // By bisection: the time per token rises with it.
  double low = 0;
  double high = 0.01;
  for (int i = 0; i < 20; ++i) {
    const double middle = (low + high) / 2;
    const double error = mean(with_overhead(middle), &Served::tpot, 0, kFitted) -
                         mean(run, &Served::tpot, 0, kFitted);
    (error < 0 ? low : high) = middle;
  }
  const std::vector<Served> served = with_overhead(low);
  const auto off = [&](double Served::*figure) {
    return mean(served, figure, kFitted, run.size()) / mean(run, figure, kFitted, run.size()) - 1;
  };
  RecordProperty("overhead_us", static_cast<int>(low * 1e6));
  std::printf("overhead %.2f ms; of the other 200: mean TTFT %+.2f %%, TPOT %+.2f %%\n", low * 1e3,
              100 * off(&Served::ttft), 100 * off(&Served::tpot));
  EXPECT_LT(std::abs(off(&Served::ttft)), 0.05);
  EXPECT_LT(std::abs(off(&Served::tpot)), 0.02);
}

}  // namespace
}  // namespace perjoule
