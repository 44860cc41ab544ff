// What a rank of the example does: its part of every microbatch, in 1F1B order.
#pragma once

#include <string>
#include <vector>

struct Training {
  int stages = 4;
  int microbatches = 8;
  int iterations = 20;
  int pipelines = 1;
  double tflop = 4;    ///< of a forward; a backward has twice as many
  double heavier = 1;  ///< of the last stage
  double activity = 0.7;
  // A pipeline that straggles, in some of the iterations:
  int straggler = -1;
  double slowdown = 1;
  int from = 0;
  int until = 0;
};

/// The ends of the sockets that a rank has; -1 where it has none.
struct Neighbours {
  int before = -1;    ///< the stage before
  int behind = -1;    ///< the stage behind
  int together = -1;  ///< where all ranks meet at an iteration's end
};

/// Trains; answers the process's exit status.
int train_rank(const Training& training, int pipeline, int stage, const Neighbours& neighbours);
