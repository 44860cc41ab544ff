#include "workload/power_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"
#include "workload/civil_time.h"

namespace perjoule {
namespace {

/// NVIDIA's documentation of nvmlDeviceGetPowerUsage: within 5 % of the current power draw.
constexpr double kNvidiaGain = 0.05;

/// Samples by device, in the order in which devices appear.
class Gatherer {
 public:
  explicit Gatherer(std::string_view name) : name_(name) {}

  void add(std::string_view device, std::int64_t at, double watts) {
    const auto [place, is_new] = places_.try_emplace(std::string(device), devices_.size());
    if (is_new) devices_.push_back({std::string(device), {}});
    devices_[place->second].samples.push_back({at, Watts(watts)});
  }
  void leave_out() { ++left_out_; }
  std::vector<PowerSeries>& devices() { return devices_; }

  /// Puts each device's samples in order and hands all of them over.
  Outcome take(PowerLog& log) {
    for (PowerSeries& series : devices_) PJ_CHECK(put_in_order(series));
    log.devices = std::move(devices_);
    if (left_out_ > 0) {
      log.notes.push_back(fmt::format("{} without a power left out",
                                      counted(static_cast<double>(left_out_), "row")));
    }
    if (log.devices.empty()) return Error::not_found(name_ + ": no sample of power in it");
    return {};
  }

 private:
  /// Rows of one moment that are a little out of order are how threads write; a clock that was set
  /// back, or an hour that daylight saving has twice, leaves no way to tell what was when.
  Outcome put_in_order(PowerSeries& series) const {
    constexpr std::int64_t kMostBack = 1'000'000'000;
    std::int64_t latest = series.samples.front().at_unix_ns;
    for (const LoggedPower& sample : series.samples) {
      if (latest - sample.at_unix_ns > kMostBack) {
        return Error::invalid_argument(
            fmt::format("{}: time of {} goes back by {:.3f} s", name_, series.device,
                        static_cast<double>(latest - sample.at_unix_ns) * 1e-9),
            "cut the log where the clock was set, and join one part");
      }
      latest = std::max(latest, sample.at_unix_ns);
    }
    std::stable_sort(
        series.samples.begin(), series.samples.end(),
        [](const LoggedPower& a, const LoggedPower& b) { return a.at_unix_ns < b.at_unix_ns; });
    // Of one moment the last counts.
    const auto first = std::unique(
        series.samples.rbegin(), series.samples.rend(),
        [](const LoggedPower& a, const LoggedPower& b) { return a.at_unix_ns == b.at_unix_ns; });
    series.samples.erase(series.samples.begin(), first.base());
    return {};
  }

  std::string name_;
  std::vector<PowerSeries> devices_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::size_t left_out_ = 0;
};

tl::unexpected<Error> bad_line(std::string_view name, std::size_t line, std::string_view what) {
  return Error::invalid_argument(fmt::format("{}: line {}: {}", name, line, what));
}

/// Calls take(cells, line number) with each line that is not empty, cut at commas and trimmed.
template <typename F>
Outcome each_line(std::string_view text, F&& take) {
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    std::vector<std::string_view> cells = split(line, ',');
    for (std::string_view& cell : cells) cell = trim(cell);
    PJ_CHECK(take(cells, number));
  }
  return {};
}

Result<PowerLog> read_meter(std::string_view text, std::string_view name,
                            const PowerLogOptions& options) {
  PowerLog log;
  log.format = "power meter of MLPerf";
  log.kind = PowerKind::kMeanBefore;
  log.boundary = Boundary::kNode;
  // How far the meter's clock may be from the load generator's in a submission.
  log.known_within = Seconds(0.5);
  Gatherer gatherer(name);
  PJ_CHECK(
      each_line(text, [&](const std::vector<std::string_view>& cells, std::size_t line) -> Outcome {
        // Channels of a meter with several follow; Watts is their sum.
        if (cells.size() < 4 || cells[0] != "Time" || cells[2] != "Watts")
          return bad_line(name, line, "not 'Time,...,Watts,...'");
        const auto at = parse_stamp(cells[1], "M-D-Y h:m:s", options.utc_offset);
        if (!at) return bad_line(name, line, fmt::format("'{}' is no stamp", cells[1]));
        if (const auto watts = parse_number(cells[3])) {
          gatherer.add("meter", *at, *watts);
        } else {
          gatherer.leave_out();
        }
        return {};
      }));
  PJ_CHECK(gatherer.take(log));
  return log;
}

/// Where the columns of nvidia-smi are.
struct SmiColumns {
  std::size_t timestamp = 0;
  std::optional<std::size_t> device;
  std::optional<std::size_t> power;
  bool instant = false;
};

SmiColumns smi_columns(const std::vector<std::string_view>& header) {
  const auto find = [&](std::string_view wanted) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < header.size(); ++i) {
      const std::string_view bare = trim(header[i].substr(0, header[i].find('[')));
      if (bare == wanted) return i;
    }
    return std::nullopt;
  };
  SmiColumns columns;
  columns.timestamp = find("timestamp").value_or(header.size());
  for (const char* device : {"uuid", "gpu_uuid", "index", "pci.bus_id", "gpu_bus_id", "serial"}) {
    if (!columns.device) columns.device = find(device);
  }
  columns.power = find("power.draw.instant");
  columns.instant = columns.power.has_value();
  for (const char* power : {"power.draw.average", "power.draw"}) {
    if (!columns.power) columns.power = find(power);
  }
  return columns;
}

Result<PowerLog> read_nvidia_smi(std::string_view text, std::string_view name,
                                 const PowerLogOptions& options) {
  PowerLog log;
  log.format = "nvidia-smi";
  log.boundary = Boundary::kDevice;
  log.gain = kNvidiaGain;
  Gatherer gatherer(name);
  std::optional<SmiColumns> columns;
  PJ_CHECK(
      each_line(text, [&](const std::vector<std::string_view>& cells, std::size_t line) -> Outcome {
        if (!columns) {
          columns = smi_columns(cells);
          if (columns->timestamp < cells.size() && columns->power) return {};
          return bad_line(name, line, "no columns 'timestamp' and 'power.draw'");
        }
        if (cells[0] == "timestamp") return {};  // the header again: logs put behind one another
        const std::size_t power = *columns->power;
        if (cells.size() <= std::max({columns->timestamp, power, columns->device.value_or(0)}))
          return bad_line(name, line, "fewer fields than the header");
        const auto at = parse_stamp(cells[columns->timestamp], "Y/M/D h:m:s", options.utc_offset);
        if (!at)
          return bad_line(name, line, fmt::format("'{}' is no stamp", cells[columns->timestamp]));
        std::string_view figure = cells[power];
        if (figure.ends_with('W')) figure = trim(figure.substr(0, figure.size() - 1));
        const std::string device =
            columns->device ? fmt::format("gpu:{}", cells[*columns->device]) : std::string("gpu");
        if (const auto watts = parse_number(figure)) {
          gatherer.add(device, *at, *watts);
        } else {
          gatherer.leave_out();
        }
        return {};
      }));
  // Newer GPUs give the mean of the last second.
  log.known_within = Seconds(columns && columns->instant ? 0.1 : 1.0);
  PJ_CHECK(gatherer.take(log));
  return log;
}

/// Keeps of our own table's sources those that together are the boundary, each device once.
Outcome choose_sources(std::string_view name, const PowerLogOptions& options,
                       std::vector<PowerSeries>& devices, PowerLog& log) {
  const auto is_gpu = [](const PowerSeries& series) { return series.device.starts_with("gpu:"); };
  const auto is_node = [](const PowerSeries& series) {
    return series.device == "node" || series.device.starts_with("node/");
  };
  const bool has_gpu = std::any_of(devices.begin(), devices.end(), is_gpu);
  const Boundary wanted = options.boundary.value_or(has_gpu ? Boundary::kDevice : Boundary::kNode);
  log.boundary = wanted;
  std::vector<PowerSeries> kept;
  std::string all;
  for (const PowerSeries& series : devices) all += (all.empty() ? "" : ", ") + series.device;
  if (wanted == Boundary::kNode) {
    const auto node = std::find_if(devices.begin(), devices.end(), is_node);
    if (node != devices.end()) kept.push_back(std::move(*node));
  } else {
    log.gain = kNvidiaGain;
    // Sources of one GPU overlap: the counter has the plain id.
    for (const std::string_view suffix : {"", "/power-instant", "/power"}) {
      for (PowerSeries& series : devices) {
        if (!is_gpu(series) || !series.device.ends_with(suffix)) continue;
        const std::string_view gpu =
            std::string_view(series.device).substr(0, series.device.find('/'));
        if (series.device.size() != gpu.size() + suffix.size()) continue;
        const bool there = std::any_of(kept.begin(), kept.end(), [&](const PowerSeries& one) {
          return std::string_view(one.device).substr(0, one.device.find('/')) == gpu;
        });
        if (!there) kept.push_back(series);
      }
    }
  }
  if (kept.empty()) {
    return Error::not_found(
        fmt::format("{}: no source of the {}", name, wanted == Boundary::kNode ? "node" : "GPUs"),
        fmt::format("it has {}", all));
  }
  devices = std::move(kept);
  return {};
}

Result<PowerLog> read_table(std::string_view text, std::string_view name,
                            const PowerLogOptions& options) {
  PJ_TRY(const CsvTable table, parse_csv(text, name));
  PJ_TRY(const std::size_t time, table.require_column("unix_s"));
  auto power = table.column("watts");
  if (!power) power = table.column("power_w");
  if (!power) {
    return Error::invalid_argument(fmt::format("{}: no column of power", name),
                                   "watts or power_w is wanted beside unix_s");
  }
  auto device = table.column("source");
  const bool ours = device && table.column("time_s");
  if (!device) device = table.column("device");
  PowerLog log;
  log.format = ours ? "perjoule run --csv" : "table";
  log.kind = ours ? PowerKind::kMeanAround : PowerKind::kPoint;
  Gatherer gatherer(name);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    PJ_TRY(const double seconds, table.number(row, time));
    const auto at = ns_of_unix_seconds(seconds);
    if (!at) return bad_line(name, table.line(row), "unix_s is no time from 1971 to 2100");
    const std::string_view figure = table.cell(row, *power);
    if (figure.empty() || equals_ignoring_case(figure, "nan")) {
      gatherer.leave_out();
      continue;
    }
    PJ_TRY(const double watts, table.number(row, *power));
    gatherer.add(device ? table.cell(row, *device) : "meter", *at, watts);
  }
  if (ours && !gatherer.devices().empty())
    PJ_CHECK(choose_sources(name, options, gatherer.devices(), log));
  PJ_CHECK(gatherer.take(log));
  return log;
}

}  // namespace

Result<PowerLog> parse_power_log(std::string_view text, std::string_view name,
                                 const PowerLogOptions& options) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";  // UTF-8's byte order mark
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  const std::string_view body = trim(text);
  const std::string_view first = body.substr(0, body.find('\n'));
  if (first.starts_with("#Entity")) {
    return Error::not_supported(fmt::format("{}: dcgmi dmon prints no time of day", name),
                                "log the GPUs with nvidia-smi or perjoule run --csv");
  }
  // The header of a table may stand below comments.
  constexpr std::size_t kHeaders = 4096;
  const bool table = body.substr(0, kHeaders).find("unix_s") != std::string_view::npos;
  Result<PowerLog> log =
      first.starts_with("Time,")                           ? read_meter(text, name, options)
      : first.find("power.draw") != std::string_view::npos ? read_nvidia_smi(text, name, options)
      : table                                              ? read_table(text, name, options)
              : Result<PowerLog>(Error::invalid_argument(
                    fmt::format("{}: not a power log of a known format", name),
                    "perjoule run --csv, a power meter's spl.txt, nvidia-smi --query-gpu with its "
                    "header, or columns unix_s and watts are read"));
  if (log) log->file = name;
  return log;
}

Result<PowerLog> read_power_log(const std::string& path, const PowerLogOptions& options) {
  PJ_TRY(const std::string text, read_file(path));
  return parse_power_log(text, path, options);
}

}  // namespace perjoule
