#include "ranks.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "perjoule/perjoule.hpp"

namespace {

/// The GPU of this rank: a simulated one where there is one, else nothing that computes.
class Gpu {
 public:
  explicit Gpu(unsigned index) : index_(index) {
    if (void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
      run_ = reinterpret_cast<Run*>(dlsym(library, "perjoule_twin_run"));
      const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
      if (init == nullptr || init() != 0) run_ = nullptr;
    }
  }
  bool computes() const { return run_ != nullptr; }
  void compute(double tflop, double activity) const {
    if (run_(index_, tflop * 1e12, 0, activity) != 0) {
      std::fprintf(stderr, "train_pipeline: GPU %u refused the work\n", index_);
      std::exit(1);
    }
  }

 private:
  using Run = int(unsigned, double, double, double);
  unsigned index_;
  Run* run_ = nullptr;
};

/// Activations or gradients: who sends them and which microbatch they are of is all that matters.
bool give(int socket, int microbatch) {
  return socket < 0 || ::write(socket, &microbatch, sizeof(microbatch)) == sizeof(microbatch);
}
bool take(int socket, int microbatch) {
  if (socket < 0) return true;
  int got = -1;
  ssize_t count = 0;
  do {
    count = ::read(socket, &got, sizeof(got));
  } while (count < 0 && errno == EINTR);
  return count == sizeof(got) && got == microbatch;
}

class Rank {
 public:
  Rank(const Training& training, int pipeline, int stage, const Neighbours& neighbours)
      : training_(training),
        pipeline_(pipeline),
        stage_(stage),
        neighbours_(neighbours),
        gpu_(static_cast<unsigned>(pipeline * training.stages + stage)) {}

  int train() {
    if (!gpu_.computes()) {
      std::fprintf(stderr,
                   "train_pipeline: no simulated GPU here; run it under perjoule twin run\n");
      return 3;
    }
    if (std::getenv("PERJOULE_PIPELINE") != nullptr) join();
    for (int iteration = 0; iteration < training_.iterations; ++iteration) {
      tell_straggler(iteration);
      if (!iterate(iteration)) {
        std::fprintf(stderr, "train_pipeline: a neighbour of stage %d has ended\n", stage_);
        return 1;
      }
      if (stage_ == 0 && pipeline_ == 0) {
        std::printf("iteration %d\n", iteration);
        std::fflush(stdout);
      }
    }
    if (rank_) with([](pj::PipelineRank& rank) { rank.leave(); });
    return 0;
  }

 private:
  void join() {
    const std::string device = "gpu:" + std::to_string(pipeline_ * training_.stages + stage_);
    session_ = std::make_unique<pj::Session>();
    pj_pipeline_options options{};
    options.struct_size = sizeof(options);
    options.device = device.c_str();
    options.pipeline = pipeline_;
    options.stage = stage_;
    options.sync = PJ_SYNC_NONE;  // the simulated kernel has ended when its call returns
    rank_ = std::make_unique<pj::PipelineRank>(*session_, options);
  }

  /// Does something with the plan server's rank; a training goes on where that fails.
  template <typename Call>
  void with(const Call& call) {
    if (!rank_) return;
    try {
      call(*rank_);
    } catch (const pj::Error& error) {
      std::fprintf(stderr, "train_pipeline: stage %d: %s\n", stage_, error.what());
    }
  }

  bool straggles(int iteration) const {
    return pipeline_ == training_.straggler && iteration >= training_.from &&
           iteration < training_.until;
  }
  void tell_straggler(int iteration) const {
    if (!rank_ || stage_ != 0 || pipeline_ != training_.straggler) return;
    if (iteration == training_.from)
      pj::check(pj_straggler_begin(nullptr, pipeline_, training_.slowdown));
    if (iteration == training_.until) pj::check(pj_straggler_end(nullptr, pipeline_));
  }

  bool iterate(int iteration) {
    const double last = stage_ == training_.stages - 1 ? training_.heavier : 1;
    tflop_ = training_.tflop * last * (straggles(iteration) ? training_.slowdown : 1);
    with([](pj::PipelineRank& rank) { rank.begin_iteration(); });
    // 1F1B: as many forwards ahead as there are stages behind.
    const int ahead = std::min(training_.stages - stage_ - 1, training_.microbatches);
    bool all = true;
    for (int m = 0; m < ahead; ++m) all = all && forward(m);
    for (int m = ahead; m < training_.microbatches; ++m)
      all = all && forward(m) && backward(m - ahead);
    for (int m = training_.microbatches - ahead; m < training_.microbatches; ++m)
      all = all && backward(m);
    if (!all) return false;
    with([](pj::PipelineRank& rank) { rank.end_iteration(); });
    return give(neighbours_.together, iteration) && take(neighbours_.together, iteration);
  }
  bool forward(int microbatch) {
    if (!take(neighbours_.before, microbatch)) return false;
    work("forward", microbatch, tflop_);
    return give(neighbours_.behind, microbatch);
  }
  bool backward(int microbatch) {
    if (!take(neighbours_.behind, microbatch)) return false;
    work("backward", microbatch, 2 * tflop_);
    return give(neighbours_.before, microbatch);
  }
  void work(const char* instruction, int microbatch, double tflop) {
    with([&](pj::PipelineRank& rank) { rank.begin(instruction, microbatch); });
    gpu_.compute(tflop, training_.activity);
    with([](pj::PipelineRank& rank) { rank.end(); });
  }

  const Training& training_;
  int pipeline_;
  int stage_;
  Neighbours neighbours_;
  Gpu gpu_;
  double tflop_ = 0;
  std::unique_ptr<pj::Session> session_;
  std::unique_ptr<pj::PipelineRank> rank_;
};

}  // namespace

int train_rank(const Training& training, int pipeline, int stage, const Neighbours& neighbours) {
  try {
    return Rank(training, pipeline, stage, neighbours).train();
  } catch (const pj::Error& error) {
    std::fprintf(stderr, "train_pipeline: stage %d: %s\n", stage, error.what());
    return 3;
  }
}
