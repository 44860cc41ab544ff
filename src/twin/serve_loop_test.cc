// The server on a machine whose clock moves by the steps alone, without sockets.
#include "twin/serve_loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "base/json.h"

namespace perjoule::twin {
namespace {

/// What a client has received.
class Heard final : public HttpExchange {
 public:
  void answer(HttpHead head, std::string body) override {
    const std::lock_guard lock(mutex_);
    head_ = std::move(head);
    text_ = std::move(body);
    over_ = true;
    changed_.notify_all();
  }
  void begin_stream(HttpHead head) override {
    const std::lock_guard lock(mutex_);
    head_ = std::move(head);
  }
  void send(std::vector<WirePiece> pieces) override {
    const std::lock_guard lock(mutex_);
    for (const WirePiece& piece : pieces) text_ += piece.bytes;
  }
  void end(bool broken) override {
    const std::lock_guard lock(mutex_);
    over_ = true;
    broken_ = broken;
    changed_.notify_all();
  }
  std::string wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_; });
    return text_;
  }
  HttpHead head() {
    const std::lock_guard lock(mutex_);
    return head_;
  }
  bool broken() {
    const std::lock_guard lock(mutex_);
    return broken_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  HttpHead head_;
  std::string text_;
  bool over_ = false;
  bool broken_ = false;
};

class ServeLoopTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "loop-" + std::to_string(getpid()) + "-" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    std::remove(path_.c_str());
    auto world = World::create(path_, {"h100", "v100"}, ClockMode::kManual);
    ASSERT_TRUE(world) << world.error().text();
    world_.emplace(std::move(*world));
  }
  void TearDown() override { std::remove(path_.c_str()); }

  void start(LoopSettings settings = {}) {
    if (settings.model.empty()) settings.model = "llama-3.1-8b";
    auto started = ServeLoop::start(*world_, settings, clock_);
    ASSERT_TRUE(started) << started.error().text();
    loop_ = std::move(*started);
  }
  std::shared_ptr<Heard> ask(const std::string& method, const std::string& path,
                             const std::string& body = "", const std::string& key = "") {
    auto heard = std::make_shared<Heard>();
    loop_->handle({method, path, key, body}, heard);
    return heard;
  }
  std::shared_ptr<Heard> chat(int tokens, const std::string& more = "") {
    return ask("POST", "/v1/chat/completions",
               R"({"model":"llama-3.1-8b","ignore_eos":true,"max_tokens":)" +
                   std::to_string(tokens) +
                   R"(,"messages":[{"role":"user","content":"how much is a joule"}])" + more + "}");
  }
  double metric(const std::string& name) {
    const std::string page = loop_->metrics();
    const std::size_t line = page.find("\n" + name + "{");
    EXPECT_NE(line, std::string::npos) << name;
    return std::stod(page.substr(page.find("} ", line) + 2));
  }

  VirtualClock clock_;
  std::string path_;
  std::optional<World> world_;
  std::unique_ptr<ServeLoop> loop_;
};

TEST_F(ServeLoopTest, AnAnswerTakesAndDrawsWhatTheTablesSay) {
  world_->set_temperature(0, 65);
  start();
  const Joules before = world_->truth(0);
  const Seconds began = world_->now();
  const auto body = parse_json(chat(200)->wait());
  ASSERT_TRUE(body);
  EXPECT_EQ(body->find("usage")->integer("completion_tokens"), 200);
  const ServeModel& model = loop_->model();
  const Seconds time = prefill_cost(model, 15).time + decode_cost(model, 1).time * 199;
  EXPECT_NEAR((world_->now() - began).value(), time.value(), 1e-4);
  EXPECT_NEAR(metric("perjoule_twin_step_seconds_total"), time.value(), 1e-9);
  EXPECT_EQ(metric("perjoule_twin_decode_steps_total"), 199);
  const double expected = metric("perjoule_twin_step_joules_total");
  EXPECT_NEAR(expected, 1.36 * 463, 10);
  // The chip cools a little below the reference in 1.4 s: leakage is a few watts less.
  EXPECT_NEAR((world_->truth(0) - before).value(), expected, 0.02 * expected);
}

TEST_F(ServeLoopTest, APowerLimitMakesItSlower) {
  start();
  Seconds began = world_->now();
  chat(100)->wait();
  const Seconds fast = world_->now() - began;
  ASSERT_TRUE(world_->set_limit(0, Watts(300)));
  began = world_->now();
  chat(100)->wait();
  EXPECT_GT((world_->now() - began).value(), 1.05 * fast.value());
}

TEST_F(ServeLoopTest, StreamsAndCounts) {
  start();
  const auto heard = chat(5, R"(,"stream":true,"stream_options":{"include_usage":true})");
  const std::string text = heard->wait();
  EXPECT_EQ(heard->head().content_type, "text/event-stream; charset=utf-8");
  EXPECT_NE(text.find("\"completion_tokens\":5"), std::string::npos);
  EXPECT_NE(text.find("data: [DONE]"), std::string::npos);
  EXPECT_EQ(metric("vllm:generation_tokens_total"), 5);
  EXPECT_EQ(metric("vllm:num_requests_running"), 0);
}

TEST_F(ServeLoopTest, ManyAtOnceShareTheSteps) {
  start({.max_num_seqs = 8});
  std::vector<std::shared_ptr<Heard>> all;
  for (int i = 0; i < 20; ++i) all.push_back(chat(30, R"(,"n":2)"));
  for (const auto& heard : all) {
    EXPECT_NE(heard->wait().find("\"completion_tokens\":60"), std::string::npos);
  }
  EXPECT_EQ(metric("vllm:generation_tokens_total"), 1200);
  EXPECT_LT(metric("perjoule_twin_decode_steps_total"), 1200 / 2);
}

TEST_F(ServeLoopTest, RoutesAndRefuses) {
  start({.api_key = "k", .faults = {*parse_serve_fault("busy:every=2,retry-after=3s")}});
  const auto status = [&](const char* method, const char* path, const char* key = "Bearer k") {
    const auto heard = ask(method, path, R"({"model":"x"})", key);
    heard->wait();
    return heard->head().status;
  };
  EXPECT_EQ(status("GET", "/health", ""), 200);
  EXPECT_EQ(status("GET", "/metrics", ""), 200);
  EXPECT_EQ(status("GET", "/v1/models"), 200);
  EXPECT_EQ(status("GET", "/v1/models", ""), 401);
  EXPECT_EQ(status("POST", "/v1/completions", "Bearer no"), 401);
  EXPECT_EQ(status("POST", "/v1/completions"), 404);  // the model
  EXPECT_EQ(status("GET", "/v1/completions"), 405);
  EXPECT_EQ(status("POST", "/metrics"), 405);
  EXPECT_EQ(status("GET", "/nothing"), 404);
  const std::string body = R"({"model":"llama-3.1-8b","prompt":"a","max_tokens":1})";
  EXPECT_EQ(ask("POST", "/v1/completions", body, "Bearer k")->wait().front(), '{');
  const auto busy = ask("POST", "/v1/completions", body, "Bearer k");
  busy->wait();
  EXPECT_EQ(busy->head().status, 429);
  EXPECT_EQ(busy->head().retry_after_s, 3);
}

TEST_F(ServeLoopTest, FaultsReachTheClient) {
  start({.faults = {*parse_serve_fault("truncate:after=2")}});
  const auto heard = chat(5, R"(,"stream":true)");
  heard->wait();
  EXPECT_TRUE(heard->broken());
  EXPECT_EQ(metric("vllm:request_success_total"), 0);  // the first line: stop
}

TEST_F(ServeLoopTest, AClientThatHasGoneIsForgotten) {
  start();
  const auto gone = chat(100'000, R"(,"n":3)");
  loop_->ended(*gone);
  chat(2)->wait();
  EXPECT_EQ(metric("vllm:num_requests_running"), 0);
  EXPECT_EQ(metric("vllm:num_requests_waiting"), 0);
}

TEST_F(ServeLoopTest, EndsWhileRequestsRun) {
  start();
  for (int i = 0; i < 4; ++i) chat(100'000);
  loop_.reset();
}

TEST_F(ServeLoopTest, RefusesWhatTheMachineCannot) {
  const auto refused = [&](const LoopSettings& settings) {
    const auto started = ServeLoop::start(*world_, settings, clock_);
    return started ? ErrorCode::kOk : started.error().code;
  };
  EXPECT_EQ(refused({.model = "llama-3.1-8b", .device = 2}), ErrorCode::kNotFound);
  EXPECT_EQ(refused({.model = "llama-3.1-8b", .device = 1}), ErrorCode::kNotFound);
  EXPECT_EQ(refused({.model = "none"}), ErrorCode::kNotFound);
  EXPECT_EQ(refused({.model = "qwen3-32b", .kv_blocks = 100'000}), ErrorCode::kOutOfRange);
}

}  // namespace
}  // namespace perjoule::twin
