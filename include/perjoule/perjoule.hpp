// Perjoule for C++ programs: a thin face over the C interface, header-only, so that nothing but its
// symbols is an ABI.
//
//   pj::Session session;                       // throws pj::Error where nothing can be measured
//   pj::Window window = session.begin("step");
//   train_step();
//   pj::Result used = window.end();
//   used.total().joules;                       // with expanded_j, state, grade, boundary, and
//                                              // is_lower_bound where part of it went unseen
//
// Short windows are better aligned to the counters' ticks: session.begin_aligned("step").
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "perjoule/perjoule.h"

namespace pj {

struct Error : std::runtime_error {
  Error(pj_status code, const std::string& what) : std::runtime_error(what), status(code) {}
  pj_status status;
};

inline void check(pj_status status) {
  if (status != PJ_OK) throw Error(status, pj_last_error());
}

class Result {
 public:
  explicit Result(pj_result* result) : result_(result, pj_result_free) {}
  pj_energy total() const {
    pj_energy energy{};
    energy.struct_size = sizeof(energy);
    check(pj_result_total(result_.get(), &energy));
    return energy;
  }
  pj_energy source(std::size_t index) const {
    pj_energy energy{};
    energy.struct_size = sizeof(energy);
    check(pj_result_source(result_.get(), index, &energy));
    return energy;
  }
  double seconds() const { return pj_result_seconds(result_.get()); }
  int sync() const { return pj_result_sync(result_.get()); }
  std::string json() const { return pj_result_json(result_.get()); }

 private:
  std::unique_ptr<pj_result, void (*)(pj_result*)> result_;
};

class Window {
 public:
  explicit Window(pj_window* window) : window_(window, pj_drop) {}
  Result end() {
    pj_result* result = nullptr;
    check(pj_end(window_.release(), &result));
    return Result(result);
  }

 private:
  std::unique_ptr<pj_window, void (*)(pj_window*)> window_;
};

/// How a window is opened; see pj_window_options.
struct WindowOptions {
  bool tick_aligned = false;  ///< know the edges better than to a tick, for up to two ticks of
                              ///< waiting outside either end
  int sync = PJ_SYNC_AUTO;
  int32_t (*callback)(void* user) = nullptr;  ///< for PJ_SYNC_CALLBACK
  void* user = nullptr;
  std::vector<std::string> sources;  ///< ids of sources or devices; empty for all
};

class Session {
 public:
  Session() : Session(nullptr) {}
  explicit Session(const pj_open_options* options) {
    pj_session* session = nullptr;
    check(pj_open(options, &session));
    session_.reset(session);
  }
  Window begin(const std::string& name, const pj_window_options* options = nullptr) {
    pj_window* window = nullptr;
    check(pj_begin(session_.get(), name.c_str(), options, &window));
    return Window(window);
  }
  Window begin(const std::string& name, const WindowOptions& options) {
    pj_window_options plain{};
    plain.struct_size = sizeof(plain);
    plain.sync = options.sync;
    plain.callback = options.callback;
    plain.user = options.user;
    plain.tick_aligned = options.tick_aligned ? 1 : 0;
    std::vector<const char*> words;
    for (const std::string& word : options.sources) words.push_back(word.c_str());
    plain.sources = words.data();
    plain.source_count = words.size();
    return begin(name, &plain);
  }
  /// A window over some sources, e.g. {"gpu:GPU-8f2c..."}: ids of sources or of devices.
  Window begin_over(const std::string& name, const std::vector<std::string>& sources) {
    WindowOptions options;
    options.sources = sources;
    return begin(name, options);
  }
  /// A window whose edges are aligned to the counters' ticks.
  Window begin_aligned(const std::string& name) {
    WindowOptions options;
    options.tick_aligned = true;
    return begin(name, options);
  }
  std::size_t source_count() const { return pj_source_count(session_.get()); }
  pj_source source(std::size_t index) const {
    pj_source source{};
    source.struct_size = sizeof(source);
    check(pj_source_at(session_.get(), index, &source));
    return source;
  }

 private:
  friend class Steps;
  friend class PipelineRank;
  std::unique_ptr<pj_session, void (*)(pj_session*)> session_{nullptr, pj_close};
};

/// Finds the power limit of a training while it goes on; see pj_steps_begin. The session must
/// outlive it.
///
///   pj::Steps steps(session, "slowdown=1.05");
///   for (...) { train_step(); steps.done(); }
class Steps {
 public:
  explicit Steps(Session& session, const std::string& rule = "eta=0.5") {
    pj_steps_options options{};
    options.struct_size = sizeof(options);
    options.rule = rule.c_str();
    begin(session, options);
  }
  Steps(Session& session, const pj_steps_options& options) { begin(session, options); }

  void done(double count = 1) { check(pj_steps_done(steps_.get(), count)); }
  void epoch_ended() { check(pj_steps_epoch_ended(steps_.get())); }
  bool settled() const { return pj_steps_settled(steps_.get()) != 0; }
  double limit_w() const { return pj_steps_limit_w(steps_.get()); }
  std::string json() { return pj_steps_json(steps_.get()); }
  /// Puts every limit back; the destructor does too, but cannot say that it failed.
  void end() { check(pj_steps_end(steps_.release())); }

 private:
  void begin(Session& session, const pj_steps_options& options) {
    pj_steps* steps = nullptr;
    check(pj_steps_begin(session.session_.get(), &options, &steps));
    steps_.reset(steps);
  }
  struct End {
    void operator()(pj_steps* steps) const { (void)pj_steps_end(steps); }
  };
  std::unique_ptr<pj_steps, End> steps_;
};

/// A rank of a pipeline-parallel training; see pj_pipeline_join. The session must outlive it.
///
///   pj::PipelineRank rank(session, stage);
///   rank.begin_iteration();
///   rank.run("forward", microbatch, [&] { forward(microbatch); });
///   rank.end_iteration();
class PipelineRank {
 public:
  PipelineRank(Session& session, int stage) {
    pj_pipeline_options options{};
    options.struct_size = sizeof(options);
    options.stage = stage;
    join(session, options);
  }
  PipelineRank(Session& session, const pj_pipeline_options& options) { join(session, options); }

  void begin_iteration() { check(pj_pipeline_begin_iteration(rank_.get())); }
  void begin(const std::string& instruction, int microbatch, int chunk = 0) {
    check(pj_pipeline_begin(rank_.get(), instruction.c_str(), microbatch, chunk));
  }
  void end() { check(pj_pipeline_end(rank_.get())); }
  template <typename Work>
  void run(const std::string& instruction, int microbatch, const Work& work, int chunk = 0) {
    begin(instruction, microbatch, chunk);
    work();
    end();
  }
  void end_iteration() { check(pj_pipeline_end_iteration(rank_.get())); }
  std::int64_t epoch() const { return pj_pipeline_epoch(rank_.get()); }
  /// Puts the GPU back as found; the destructor does too, but cannot say that it failed.
  void leave() { check(pj_pipeline_leave(rank_.release())); }

 private:
  void join(Session& session, const pj_pipeline_options& options) {
    pj_pipeline* rank = nullptr;
    check(pj_pipeline_join(session.session_.get(), &options, &rank));
    rank_.reset(rank);
  }
  struct Leave {
    void operator()(pj_pipeline* rank) const { (void)pj_pipeline_leave(rank); }
  };
  std::unique_ptr<pj_pipeline, Leave> rank_;
};

}  // namespace pj
