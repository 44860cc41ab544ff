// Logs of power from anyone: whatever is read is in order, and joins with a result that can be
// written and read again.
#include <cmath>
#include <cstdlib>

#include "workload/bench_join.h"
#include "workload/bench_result_json.h"
#include "workload/power_log.h"

namespace {

using namespace perjoule;

void check_order(const PowerLog& log) {
  if (log.devices.empty()) std::abort();
  for (const PowerSeries& series : log.devices) {
    if (series.samples.empty()) std::abort();
    for (std::size_t i = 1; i < series.samples.size(); ++i) {
      if (series.samples[i].at_unix_ns <= series.samples[i - 1].at_unix_ns) std::abort();
    }
  }
}

void join_window(const PowerLog& log, std::int64_t begin, std::int64_t end) {
  BenchResult result;
  result.benchmark = result.task = result.model.id = result.origin.file = "fuzz";
  result.window = BenchWindow{begin, end, Seconds(2), "fuzz"};
  result.totals = {100, 200, 10};
  const auto join = join_power(result, log, {.boundary = log.boundary.value_or(Boundary::kNode)});
  if (!join) return;
  if (!(join->energy.joules.value() > 0)) std::abort();
  const Json json = to_json(join->result);
  const auto again = bench_result_from_json(json, "again");
  if (!again || to_json(*again).dump() != json.dump()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // The first byte chooses among ways to read; the rest is the file.
  PowerLogOptions options{.utc_offset = Seconds(3600.0 * (data[0] & 3U))};
  if ((data[0] & 4U) != 0) options.boundary = Boundary::kNode;
  if ((data[0] & 8U) != 0) options.boundary = Boundary::kDevice;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto log = parse_power_log(text, "f", options);
  if (!log) return 0;
  check_order(*log);
  const auto& samples = log->devices.front().samples;
  const std::int64_t first = samples.front().at_unix_ns;
  const std::int64_t last = samples.back().at_unix_ns;
  join_window(*log, first, last);
  join_window(*log, first + (last - first) / 3, last - (last - first) / 5);
  return 0;
}
