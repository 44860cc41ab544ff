// Pipeline-parallel training in miniature: a process a stage, activations and gradients over
// sockets, 1F1B, on simulated GPUs. What a framework has to call of Perjoule stands in ranks.cc.
//
//   perjoule twin run --gpu a100:4 -- perjoule pipeline run --microbatches 8 --stages 4 --
//     train_pipeline --iterations 80
//
// With --pipelines N as many replicas train and wait for one another after each iteration;
// --straggle PIPELINE:FACTOR:FROM:UNTIL lets one of them take FACTOR times as long in some of them.
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "ranks.h"

namespace {

[[noreturn]] void usage(const std::string& why) {
  std::fprintf(stderr,
               "train_pipeline: %s\nusage: train_pipeline [--stages N] [--microbatches N] "
               "[--iterations N] [--pipelines N] [--tflop X] [--heavier X] [--activity X] "
               "[--straggle PIPELINE:FACTOR:FROM:UNTIL]\n",
               why.c_str());
  std::exit(2);
}

Training parse(int argc, char** argv) {
  Training training;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 >= argc) usage(name + " wants a value");
    const char* const value = argv[i + 1];
    if (name == "--stages") {
      training.stages = std::atoi(value);
    } else if (name == "--microbatches") {
      training.microbatches = std::atoi(value);
    } else if (name == "--iterations") {
      training.iterations = std::atoi(value);
    } else if (name == "--pipelines") {
      training.pipelines = std::atoi(value);
    } else if (name == "--tflop") {
      training.tflop = std::atof(value);
    } else if (name == "--heavier") {
      training.heavier = std::atof(value);
    } else if (name == "--activity") {
      training.activity = std::atof(value);
    } else if (name == "--straggle") {
      if (std::sscanf(value, "%d:%lf:%d:%d", &training.straggler, &training.slowdown,
                      &training.from, &training.until) != 4)
        usage("--straggle wants PIPELINE:FACTOR:FROM:UNTIL");
    } else {
      usage("what is " + name + "?");
    }
  }
  if (training.stages < 1 || training.microbatches < 1 || training.iterations < 1 ||
      training.pipelines < 1 || !(training.tflop > 0))
    usage("counts are from 1 up, and work above 0");
  return training;
}

/// Two ends that talk to one another.
struct Pair {
  Pair() {
    int both[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, &both[0]) != 0) {
      std::perror("train_pipeline: socketpair");
      std::exit(1);
    }
    one = both[0];
    other = both[1];
  }
  int one;
  int other;
};

/// Lets all ranks go on when each has come, until one of them is gone.
void hold_together(const std::vector<int>& ranks) {
  for (;;) {
    int iteration = 0;
    for (const int rank : ranks) {
      if (::read(rank, &iteration, sizeof(iteration)) != sizeof(iteration)) return;
    }
    for (const int rank : ranks) {
      if (::write(rank, &iteration, sizeof(iteration)) != sizeof(iteration)) return;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Training training = parse(argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  const auto stages = static_cast<std::size_t>(training.stages);
  const auto count = stages * static_cast<std::size_t>(training.pipelines);
  std::vector<Pair> links(count);  // from stage to stage; the last of each pipeline's is not used
  std::vector<Pair> meeting(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t stage = i % stages;
    // What is still in the buffer, where standard output is no terminal, a child would write again.
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child < 0) {
      std::perror("train_pipeline: fork");
      return 1;
    }
    if (child == 0) {
      Neighbours neighbours;
      neighbours.together = meeting[i].other;
      if (stage > 0) neighbours.before = links[i - 1].other;
      if (stage + 1 < stages) neighbours.behind = links[i].one;
      // The end of a rank must be the end of its sockets: nobody else keeps them open.
      for (std::size_t j = 0; j < count; ++j) {
        if (links[j].one != neighbours.behind) ::close(links[j].one);
        if (links[j].other != neighbours.before) ::close(links[j].other);
        ::close(meeting[j].one);
        if (j != i) ::close(meeting[j].other);
      }
      std::exit(
          train_rank(training, static_cast<int>(i / stages), static_cast<int>(stage), neighbours));
    }
    std::printf("rank %zu is process %d\n", i, static_cast<int>(child));
  }
  std::fflush(stdout);
  std::vector<int> ends;
  for (std::size_t i = 0; i < count; ++i) {
    ::close(links[i].one);
    ::close(links[i].other);
    ::close(meeting[i].other);
    ends.push_back(meeting[i].one);
  }
  hold_together(ends);
  for (const int end : ends) ::close(end);
  int worst = 0;
  for (int status = 0; ::wait(&status) > 0;) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    worst = code > worst ? code : worst;
  }
  return worst;
}
