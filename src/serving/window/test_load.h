// For tests: runs of a server that batches continuously, as a load generator would record them,
// with a power whose every watt is known.
//
// The server works in steps of `step`: those that run get a token each, at the step's end; a place
// that is free at a step's beginning is taken by who waits longest. A step draws idle + slope x
// running.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include "math/random.h"
#include "serving/window/steady_window.h"

namespace perjoule::test_load {

struct Server {
  std::size_t batch = 32;
  Seconds step = Seconds(0.02);
  Watts idle = Watts(100);
  Watts slope = Watts(2);      ///< for each that runs
  double power_noise = 0;      ///< relative, of each sample
  std::int64_t shortest = 50;  ///< tokens of a response, even between these
  std::int64_t longest = 150;
};

struct LoadRun {
  std::vector<RequestRecord> records;
  std::vector<PowerReading> power;
};

/// Requests are sent at these instants, which rise.
inline LoadRun run(const Server& server, const std::vector<Instant>& sent, std::uint64_t seed) {
  Random random(seed);
  LoadRun made;
  std::vector<std::int64_t> left;
  for (const Instant at : sent) {
    RequestRecord& record = made.records.emplace_back();
    record.scheduled = record.sent = at;
    record.response.choices = 1;
    record.response.tokens.prompt = 100;
    left.push_back(server.shortest +
                   static_cast<std::int64_t>(random.below(
                       static_cast<std::uint64_t>(server.longest - server.shortest + 1))));
  }
  std::deque<std::size_t> waiting;
  std::vector<std::size_t> running;
  std::size_t next = 0;
  made.power.push_back({sent.front() + Seconds(-1), server.idle});
  made.power.push_back({sent.front(), server.idle});
  for (Instant now = sent.front(); next < sent.size() || !waiting.empty() || !running.empty();) {
    while (next < sent.size() && sent[next] <= now) waiting.push_back(next++);
    while (running.size() < server.batch && !waiting.empty()) {
      running.push_back(waiting.front());
      waiting.pop_front();
    }
    const Watts power = (server.idle + server.slope * static_cast<double>(running.size())) *
                        (1 + server.power_noise * random.normal());
    made.power.push_back({now + Seconds(1e-6), power});
    now = now + server.step;
    made.power.push_back({now, power});
    for (const std::size_t i : running) {
      Response& response = made.records[i].response;
      if (!response.first_token) response.first_token = response.first_chunk = now;
      response.chunks.push_back({.at = now, .tokens = 1, .has_answer = true});
      response.last_chunk = made.records[i].ended = now;
      ++response.tokens.output;
      --left[i];
    }
    running.erase(std::remove_if(running.begin(), running.end(),
                                 [&left](std::size_t i) { return left[i] == 0; }),
                  running.end());
  }
  made.power.push_back({made.power.back().at + Seconds(1e-6), server.idle});
  made.power.push_back({made.power.back().at + Seconds(1), server.idle});
  return made;
}

/// All at once.
inline LoadRun closed(const Server& server, std::size_t requests, std::uint64_t seed = 1) {
  return run(server, std::vector<Instant>(requests), seed);
}

/// Poisson arrivals, at `rate` until `until`; after `change` at another rate.
inline LoadRun open(const Server& server, Hertz rate, Seconds until, std::uint64_t seed,
                    Seconds change = Seconds(1e9), Hertz then = Hertz(1)) {
  Random random(seed + 1000);
  std::vector<Instant> sent;
  for (Instant at; at < Instant{} + until;) {
    sent.push_back(at);
    const Hertz now = at - Instant{} < change ? rate : then;
    at = at + -std::log(1 - random.uniform()) / now;
  }
  return run(server, sent, seed);
}

inline Joules energy_per_token(const LoadRun& run, const SteadyWindow& window) {
  const Joules energy = energy_between(run.power, window.from, window.until).value();
  return energy / static_cast<double>(window_totals(run.records, window).output_tokens);
}

}  // namespace perjoule::test_load
