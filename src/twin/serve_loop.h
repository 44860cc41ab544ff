// The simulated inference server without its sockets: requests into the engine, its steps onto the
// simulated GPU, and what they give back to the clients.
//
//   PJ_TRY(const auto loop, ServeLoop::start(world, settings, clock));
//   PJ_TRY(const auto server, HttpServer::start(0, *loop));
//
// One thread runs the steps: it posts each as a phase to the simulated GPU and sleeps until that
// has ended, so that power, energy and the effect of a power limit are the GPU's own. Nothing is
// posted while nothing is to be done; the context stays open, as a real server's does.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "twin/serve_engine.h"
#include "twin/serve_http.h"
#include "twin/serve_timing.h"
#include "twin/world.h"

namespace perjoule::twin {

struct LoopSettings {
  std::string model = {};  ///< key or name of a ServeModel
  int device = 0;          ///< of the machine
  int max_num_seqs = 256;
  int max_batched_tokens = 8192;
  int context_tokens = 0;  ///< at most the model's, which 0 stands for
  int kv_blocks = 0;       ///< 0: what the memory has room for
  int tokens_per_chunk = 1;
  std::string api_key = {};
  std::vector<ServeFault> faults = {};
};

class ServeLoop final : public HttpHandler {
 public:
  /// The world and the clock, which tells the time of day, must outlive it. not_found for a device
  /// or a model that there is not, or a GPU without a table; not_supported for a machine that is
  /// played back; out_of_range for what the GPU's memory cannot hold.
  static Result<std::unique_ptr<ServeLoop>> start(World& world, const LoopSettings& settings,
                                                  const Clock& clock);
  ~ServeLoop() override;

  void handle(const HttpRequest& request, std::shared_ptr<HttpExchange> exchange) override;
  void ended(const HttpExchange& exchange) override;

  const ServeModel& model() const { return model_; }
  int kv_blocks() const { return kv_blocks_; }
  int context_tokens() const { return api_.context_tokens; }
  std::string metrics() const;

 private:
  /// A client that waits for its answer.
  struct Client {
    ResponseWriter writer;
    std::shared_ptr<HttpExchange> exchange;
    std::vector<SequenceId> sequences;  ///< of its choices
  };
  struct Place {
    std::shared_ptr<Client> client;
    std::size_t choice = 0;
  };

  ServeLoop(World& world, const LoopSettings& settings, const Clock& clock, const ServeModel& model,
            int kv_blocks);
  void generate(Endpoint endpoint, const HttpRequest& request,
                const std::shared_ptr<HttpExchange>& exchange);
  ApiResult<void> admit(const ApiRequest& request, std::vector<ServeFault> faults,
                        const std::shared_ptr<HttpExchange>& exchange);
  void run(const std::stop_token& stop);
  Outcome take_step(const EngineStep& step, std::unique_lock<std::mutex>& lock);
  void deliver_all();
  void deliver(const TokenDelta& delta);
  void give(Client& client, std::vector<WirePiece> pieces);
  void forget(const Client& client);
  void fail_all(const Error& error);
  Instant now() const;

  World& world_;
  const Clock& clock_;
  const int device_;
  const ServeModel& model_;
  const Silicon silicon_;
  const int kv_blocks_;
  const std::vector<ServeFault> faults_;
  ApiSettings api_;

  mutable std::mutex mutex_;  // all below
  std::condition_variable_any arrived_;
  ServeEngine engine_;
  std::map<SequenceId, Place> places_;
  std::vector<TokenDelta> said_;  ///< by the last step, and not delivered
  std::uint64_t requests_ = 0;
  Seconds step_time_;
  Joules step_energy_;
  bool has_failed_ = false;
  std::jthread thread_;  // last: it uses all else
};

}  // namespace perjoule::twin
