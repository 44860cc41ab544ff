// The highest rate of chunks in 4,096 streams that a client stamps in time, doubled until it does
// not: ours, and a loop that does nothing but wait and receive; and how late a Python client is
// (stream_peer.py).
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "figure.h"
#include "real_time.h"
#include "stream_client.h"

extern char** environ;

namespace pb = perjoule::bench;

namespace {

using namespace perjoule;

constexpr double kSeconds = 1.2;  ///< of each rate, at least
/// Of each rate: a machine that stands still for some milliseconds is not the client's doing.
constexpr std::size_t kTries = 2;
constexpr double kMostSkew = 1;  ///< ms, P99
constexpr double kLeastRate = 0.99;
constexpr std::size_t kMost = 800'000;

/// A Python client takes that long to read 4,096 responses' heads.
constexpr Seconds kPythonsQuiet = Seconds(1.5);

pb::StreamPlan plan_of(std::size_t rate, Seconds quiet = pb::StreamPlan{}.quiet) {
  pb::StreamPlan plan;
  plan.chunks_per_second = rate;
  plan.quiet = quiet;
  const double each =
      kSeconds * static_cast<double>(rate) / static_cast<double>(plan.streams) + 0.5;
  plan.chunks_per_stream = std::max<std::size_t>(1, static_cast<std::size_t>(each));
  return plan;
}

std::vector<pb::StreamPlan> doubling() {
  std::vector<pb::StreamPlan> plans;
  for (std::size_t rate = 50'000; rate <= kMost; rate *= 2)
    plans.insert(plans.end(), kTries, plan_of(rate));
  return plans;
}

/// Far enough apart to show where it is late and where it is left behind.
std::vector<pb::StreamPlan> pythons() {
  std::vector<pb::StreamPlan> plans;
  for (const std::size_t rate : {1'562U, 6'250U, 25'000U, 50'000U})
    plans.push_back(plan_of(rate, kPythonsQuiet));
  return plans;
}

struct Sweep {
  std::size_t held = 0;  ///< chunks a second; 0 where not even the lowest was
  std::string words = {};
};

/// None where there is no such client here.
using Reader = std::function<std::optional<pb::StreamReading>(std::size_t round)>;

/// Ends where a rate is not held in any of its tries, or goes on to see by how much it is not.
Sweep sweep(const pb::StreamSender& sender, const Reader& read, std::size_t tries, bool ends) {
  Sweep sweep;
  for (std::size_t i = 0; i < sender.rounds(); ++i) {
    const auto reading = read(i);
    if (!reading) {
      sweep.words = "not measured: python3-aiohttp is missing or the client failed";
      return sweep;
    }
    const pb::StreamRound& round = sender.round(i);
    const auto asked = static_cast<double>(round.plan().chunks_per_second);
    const double p99 = reading->skew_ms(0.99);
    const bool is_sent = round.rate() >= kLeastRate * asked;
    sweep.words += fmt::format("{}{} a second: median {:.2f}, P99 {:.2f} ms", i == 0 ? "" : "; ",
                               asked, reading->skew_ms(0.5), p99);
    if (!is_sent) sweep.words += fmt::format(", of which {:.0f} were sent", round.rate());
    const std::size_t tries_left = tries - 1 - i % tries;
    if (is_sent && p99 < kMostSkew) {
      sweep.held = round.plan().chunks_per_second;
      i += tries_left;
    } else if (tries_left == 0 && ends) {
      break;
    }
  }
  return sweep;
}

std::optional<pb::StreamReading> read_with_python(const pb::StreamSender& sender,
                                                  std::size_t round) {
  const pb::StreamRound& streams = sender.begin(round);
  const pb::StreamPlan& plan = streams.plan();
  const std::string output = fmt::format("/tmp/perjoule-stream-peer-{}", ::getpid());
  std::vector<std::string> words = {"/usr/bin/python3",
                                    PERJOULE_SOURCE_DIR "/bench/stream_peer.py",
                                    std::to_string(sender.port()),
                                    std::to_string(plan.streams),
                                    std::to_string(plan.chunks_per_stream),
                                    output};
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t process = 0;
  int status = 1;
  if (::posix_spawn(&process, pointers.front(), nullptr, nullptr, pointers.data(), environ) == 0)
    ::waitpid(process, &status, 0);
  const auto bytes = status == 0 ? read_file(output) : Result<std::string>("");
  (void)::unlink(output.c_str());
  if (!bytes || bytes->size() != plan.chunks() * sizeof(std::int64_t)) return std::nullopt;
  pb::StreamReading reading;
  const auto* stamps = reinterpret_cast<const std::int64_t*>(bytes->data());
  for (std::size_t i = 0; i < plan.chunks(); ++i) {
    const Instant sent = streams.sent_at(i / plan.chunks_per_stream, i % plan.chunks_per_stream);
    reading.skews_ms.push_back((Instant{stamps[i]} - sent).value() * 1e3);
  }
  return reading;
}

}  // namespace

int main() {
  pb::allow_descriptors();
  const pb::StreamSender to_bare(doubling());
  const pb::StreamSender to_ours(doubling());
  const pb::StreamSender to_python(pythons());
  const RequestSet set = pb::stream_requests(pb::StreamPlan{}.streams);
  const pb::RealTime first;
  const auto bare = sweep(
      to_bare, [&](std::size_t round) { return pb::read_bare(set, to_bare, round, true); }, kTries,
      true);
  const auto ours = sweep(
      to_ours, [&](std::size_t round) { return pb::read_with_generator(set, to_ours, round); },
      kTries, true);
  const auto python = sweep(
      to_python, [&](std::size_t round) { return read_with_python(to_python, round); }, 1, false);
  pb::print(
      {.figure = "stream_rate",
       .value = static_cast<double>(ours.held),
       .unit = "chunks/s",
       .bar = "> the Python client's",
       .pass = ours.held > python.held,
       .detail = fmt::format(
           "highest rate, doubled, that the sender sends and whose stamps are less than 1 ms "
           "late at P99, {} streams, {} priority; ours: {}. A bare loop: {}. aiohttp, read as "
           "vLLM's benchmark reads it, in time up to {} chunks/s: {}",
           pb::StreamPlan{}.streams, first.is_allowed() ? "real-time" : "ordinary", ours.words,
           bare.words, python.held, python.words)});
}
