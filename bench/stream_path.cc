// What a chunk of a stream costs from the socket to its record, beside a loop that does nothing but
// wait and receive, and how late its stamp is: 4,096 streams, 50,000 chunks a second in all.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "figure.h"
#include "real_time.h"
#include "stream_client.h"

namespace pb = perjoule::bench;

namespace {

constexpr int kPairs = 3;

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

std::string words(const pb::StreamReading& reading) {
  return fmt::format("median {:.3f}, P99 {:.3f}, largest {:.2f} ms", reading.skew_ms(0.5),
                     reading.skew_ms(0.99), reading.skew_ms(1));
}

}  // namespace

int main() {
  pb::allow_descriptors();
  const pb::StreamPlan plan;
  const pb::StreamSender sender(std::vector<pb::StreamPlan>(3 * kPairs + 2, plan));
  const perjoule::RequestSet set = pb::stream_requests(plan.streams);
  std::vector<double> ratios;
  pb::StreamReading bare_stamps;
  pb::StreamReading our_stamps;
  double bare_least = 1e9;
  double ours_least = 1e9;
  std::size_t round = 0;
  std::string priority = "ordinary priority";
  {
    const pb::RealTime first;
    if (first.is_allowed()) priority = "real-time priority";
    for (int pair = 0; pair < kPairs; ++pair) {
      const auto bare = pb::read_bare(set, sender, round++, false);
      const auto ours = pb::read_with_generator(set, sender, round++);
      // Once more, as to look at the clock is not the least.
      append(bare_stamps.skews_ms, pb::read_bare(set, sender, round++, true).skews_ms);
      append(our_stamps.skews_ms, ours.skews_ms);
      ratios.push_back(ours.cpu_us / bare.cpu_us);
      bare_least = std::min(bare_least, bare.cpu_us);
      ours_least = std::min(ours_least, ours.cpu_us);
    }
  }
  const auto bare_behind = pb::read_bare(set, sender, round++, true);
  const auto ours_behind = pb::read_with_generator(set, sender, round++);
  std::sort(ratios.begin(), ratios.end());
  const double ratio = ratios[ratios.size() / 2];
  pb::print(
      {.figure = "stream_path_cpu",
       .value = ratio,
       .unit = "times a bare loop",
       .bar = "<= 1.5",
       .pass = ratio <= 1.5,
       .detail = fmt::format(
           "median of {} pairs of rounds ({:.2f} to {:.2f}) of {} streams, {} chunks a second "
           "in all; least CPU time a chunk: bare {:.2f} us, ours {:.2f} us",
           kPairs, ratios.front(), ratios.back(), plan.streams, plan.chunks_per_second, bare_least,
           ours_least)});
  const double p99 = our_stamps.skew_ms(0.99);
  pb::print(
      {.figure = "stream_path_skew",
       .value = p99,
       .unit = "ms, P99",
       .bar = "< 1",
       .pass = p99 < 1,
       .detail = fmt::format(
           "from the sender's send(2) to the chunk's stamp, {} chunks in bursts of {}, client and "
           "sender on a processor each, the client at {}; {}; the bare loop's in the same run: {}. "
           "Behind the machine's other threads, kernel threads among them: {}; the bare loop's: {}",
           our_stamps.skews_ms.size(), plan.chunks_per_second / 1000, priority, words(our_stamps),
           words(bare_stamps), words(ours_behind), words(bare_behind))});
}
