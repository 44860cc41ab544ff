#include "twin/serve_loop.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/signals_kept.h"

namespace perjoule::twin {
namespace {

constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kStreamType[] = "text/event-stream; charset=utf-8";

void refuse(HttpExchange& exchange, const ApiError& error) {
  exchange.answer({.status = error.status, .retry_after_s = error.retry_after_s},
                  error_body(error));
}

ApiError not_there(const HttpRequest& request) {
  return {.status = 404, .message = "there is no " + request.path + " here", .code = "not_found"};
}

ApiError wrong_method(const HttpRequest& request, std::string_view right) {
  return {.status = 405,
          .message = request.path + " takes " + std::string(right) + ", not " + request.method,
          .code = "method_not_allowed"};
}

EngineSettings engine_settings(const LoopSettings& settings, const ServeModel& model,
                               int kv_blocks) {
  const int context = settings.context_tokens > 0
                          ? std::min(settings.context_tokens, model.context_tokens)
                          : model.context_tokens;
  return {.max_num_seqs = settings.max_num_seqs,
          .max_batched_tokens = settings.max_batched_tokens,
          .kv_blocks = kv_blocks,
          .context_tokens = context,
          .tokens_per_chunk = settings.tokens_per_chunk};
}

}  // namespace

Result<std::unique_ptr<ServeLoop>> ServeLoop::start(World& world, const LoopSettings& settings,
                                                    const Clock& clock) {
  if (settings.device < 0 || settings.device >= world.device_count()) {
    return Error::not_found("no such simulated device: " + std::to_string(settings.device),
                            "there are " + std::to_string(world.device_count()));
  }
  const DeviceBlock& device = world.mapping().block().devices[settings.device];
  if (device.replay_count > 0) {
    return Error::not_supported("a device that is played back does no work: " +
                                std::string(device.name));
  }
  PJ_TRY(const ServeModel* const model, find_serve_model(settings.model, device.key));
  const int room = kv_blocks_of(*model, device.memory_bytes, kBlockTokens);
  const int blocks = settings.kv_blocks > 0 ? settings.kv_blocks : room;
  if (blocks > room || blocks < 1) {
    return Error::out_of_range("the GPU's memory has no room for so many blocks beside " +
                                   model->key + ": " + std::to_string(blocks),
                               "there is room for " + std::to_string(room));
  }
  // Its weights are loaded: the device has a context from now on.
  PJ_CHECK(world.attach(settings.device, static_cast<int>(::getpid()),
                        static_cast<std::uint64_t>(model->weight_bytes)));
  std::unique_ptr<ServeLoop> loop(new ServeLoop(world, settings, clock, *model, blocks));
  const SignalsKept kept;
  loop->thread_ = std::jthread([raw = loop.get()](const std::stop_token& stop) { raw->run(stop); });
  return loop;
}

ServeLoop::ServeLoop(World& world, const LoopSettings& settings, const Clock& clock,
                     const ServeModel& model, int kv_blocks)
    : world_(world),
      clock_(clock),
      device_(settings.device),
      model_(model),
      silicon_(world.mapping().block().devices[settings.device].silicon),
      kv_blocks_(kv_blocks),
      faults_(settings.faults),
      engine_(engine_settings(settings, model, kv_blocks)) {
  api_ = {.models = {model.name, model.key},
          .api_key = settings.api_key,
          .context_tokens = engine_.context_tokens()};
}

ServeLoop::~ServeLoop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  (void)world_.detach(device_, static_cast<int>(::getpid()));
}

Instant ServeLoop::now() const { return Instant{std::llround(world_.now().value() * 1e9)}; }

void ServeLoop::handle(const HttpRequest& request, std::shared_ptr<HttpExchange> exchange) {
  const bool chat = request.path == "/v1/chat/completions";
  if (chat || request.path == "/v1/completions") {
    if (request.method != "POST") return refuse(*exchange, wrong_method(request, "POST"));
    return generate(chat ? Endpoint::kChat : Endpoint::kCompletions, request, exchange);
  }
  const bool known =
      request.path == "/health" || request.path == "/metrics" || request.path == "/v1/models";
  if (!known) return refuse(*exchange, not_there(request));
  if (request.method != "GET") return refuse(*exchange, wrong_method(request, "GET"));
  if (request.path == "/metrics") {
    return exchange->answer({.content_type = kMetricsType}, metrics());
  }
  if (request.path == "/health") {
    const std::lock_guard lock(mutex_);
    return exchange->answer({.status = has_failed_ ? 503 : 200}, "");
  }
  if (const auto open = check_key(request.authorization, api_); !open) {
    return refuse(*exchange, open.error());
  }
  exchange->answer({}, models_body(api_, clock_.unix_ns() / 1'000'000'000));
}

void ServeLoop::generate(Endpoint endpoint, const HttpRequest& request,
                         const std::shared_ptr<HttpExchange>& exchange) {
  if (const auto open = check_key(request.authorization, api_); !open) {
    return refuse(*exchange, open.error());
  }
  const auto parsed = parse_request(endpoint, request.body, api_);
  if (!parsed) return refuse(*exchange, parsed.error());
  const std::lock_guard lock(mutex_);
  std::vector<ServeFault> faults = faults_of(faults_, ++requests_);
  if (const ServeFault* const busy = find_fault(faults, ServeFaultKind::kBusy)) {
    return refuse(*exchange, too_many_requests(busy->retry_after_s));
  }
  if (const auto admitted = admit(*parsed, std::move(faults), exchange); !admitted) {
    refuse(*exchange, admitted.error());
  }
}

/// All of a request's answers into the queue, or none.
ApiResult<void> ServeLoop::admit(const ApiRequest& request, std::vector<ServeFault> faults,
                                 const std::shared_ptr<HttpExchange>& exchange) {
  if (has_failed_) {
    return tl::unexpected<ApiError>(
        {.status = 503, .type = "server_error", .message = "the simulated GPU has failed"});
  }
  const std::string id =
      (request.endpoint == Endpoint::kChat ? "chatcmpl-" : "cmpl-") + std::to_string(requests_);
  const auto client = std::make_shared<Client>(
      Client{ResponseWriter(request, id, clock_.unix_ns() / 1'000'000'000, std::move(faults)),
             exchange,
             {}});
  for (std::size_t i = 0; i < request.choices.size(); ++i) {
    const auto sequence = engine_.add(request.choices[i], now());
    if (!sequence) {
      forget(*client);
      return tl::unexpected<ApiError>(bad_request(sequence.error().text()));
    }
    client->sequences.push_back(*sequence);
    places_[*sequence] = {client, i};
  }
  if (client->writer.streams()) {
    exchange->begin_stream({.content_type = kStreamType});
    give(*client, client->writer.begin());
  }
  arrived_.notify_one();
  return {};
}

void ServeLoop::ended(const HttpExchange& exchange) {
  const std::lock_guard lock(mutex_);
  const auto is_its = [&](const auto& place) {
    return place.second.client->exchange.get() == &exchange;
  };
  const auto found = std::find_if(places_.begin(), places_.end(), is_its);
  if (found == places_.end()) return;
  const std::shared_ptr<Client> client = found->second.client;
  forget(*client);
}

/// What is still being generated for it is not wanted any more.
void ServeLoop::forget(const Client& client) {
  for (const SequenceId id : client.sequences) {
    if (places_.erase(id) > 0) engine_.cancel(id, now());
  }
}

std::string ServeLoop::metrics() const {
  const std::lock_guard lock(mutex_);
  ServeGauges gauges = engine_.gauges();
  gauges.step_time = step_time_;
  gauges.step_energy = step_energy_;
  return metrics_page(engine_.counters(), gauges, model_.name);
}

void ServeLoop::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested() && !has_failed_) {
    const auto step = engine_.next_step(now());
    if (!step) {
      deliver_all();
      arrived_.wait(lock, stop, [this] { return engine_.gauges().waiting > 0; });
      continue;
    }
    if (const Outcome taken = take_step(*step, lock); !taken) fail_all(taken.error());
  }
}

/// On the GPU. While it computes, the clients get what the step before has given, as a server that
/// wants its GPU busy has it; the lock is let go while there is nothing but to wait.
Outcome ServeLoop::take_step(const EngineStep& step, std::unique_lock<std::mutex>& lock) {
  const StepCost cost = step.kind == StepKind::kPrefill ? prefill_cost(model_, step.tokens)
                                                        : decode_cost(model_, step.tokens);
  PJ_TRY(const std::uint64_t ticket, world_.begin_phase(device_, phase_of(cost, model_, silicon_)));
  deliver_all();
  lock.unlock();
  const Outcome ended = world_.wait(device_, ticket);
  lock.lock();
  if (!ended) return fail(ended);
  step_time_ += cost.time;
  step_energy_ += cost.energy();
  said_ = engine_.finish_step(now());
  return {};
}

void ServeLoop::deliver_all() {
  for (const TokenDelta& delta : std::exchange(said_, {})) deliver(delta);
}

void ServeLoop::deliver(const TokenDelta& delta) {
  const auto place = places_.find(delta.id);
  if (place == places_.end()) return;
  const std::shared_ptr<Client> client = place->second.client;
  const std::size_t choice = place->second.choice;
  if (delta.finish) places_.erase(place);
  give(*client, client->writer.add(choice, delta));
}

void ServeLoop::give(Client& client, std::vector<WirePiece> pieces) {
  const ResponseWriter& writer = client.writer;
  const bool plain = !writer.streams() && !writer.broken() && pieces.size() == 1 &&
                     pieces.front().pause <= Seconds(0);
  if (plain) {
    client.exchange->answer({}, std::move(pieces.front().bytes));
  } else if (!pieces.empty()) {
    if (!writer.streams()) client.exchange->begin_stream({});
    client.exchange->send(std::move(pieces));
  }
  if (!writer.ended()) return;
  if (!plain) client.exchange->end(writer.broken());
  forget(client);
}

void ServeLoop::fail_all(const Error& error) {
  has_failed_ = true;
  const ApiError what{.status = 500, .type = "server_error", .message = error.text()};
  for (const auto& [id, place] : std::exchange(places_, {})) {
    Client& client = *place.client;
    if (client.writer.streams()) {
      client.exchange->end(/*broken=*/true);
    } else {
      refuse(*client.exchange, what);
    }
  }
}

}  // namespace perjoule::twin
