#include "device/cpu_estimator.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"
#include "device/cpu_facts.h"

namespace perjoule {

extern const std::string_view kCpuTdpCsv;
extern const std::string_view kCpuLoadCurveCsv;

namespace {

/// Typical server parts: TDP over logical processors, and how far a part may lie from it either
/// way.
constexpr Watts kTypicalTdpPerLogicalProcessor(4);
constexpr double kUnknownTdpFactor = 2;

/// Lower case, without trade marks, clock and filler words, so that both spellings of a name meet.
std::string normalised(std::string_view name) {
  std::string out;
  for (std::string_view word : split(name.substr(0, name.find('@')), ' ')) {
    std::string plain;
    for (std::size_t i = 0; i < word.size(); ++i) {
      if (word[i] == '(') {
        i = std::min(word.find(')', i), word.size());
        continue;
      }
      const char c = word[i];
      plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    const bool filler = plain.empty() || plain == "cpu" || plain == "processor" ||
                        plain.find("-core") != std::string::npos;
    if (!filler) out += (out.empty() ? "" : " ") + plain;
  }
  return out;
}

}  // namespace

std::optional<Watts> find_cpu_tdp(std::string_view cpuinfo_model) {
  const std::string wanted = normalised(cpuinfo_model);
  const auto table = parse_csv(kCpuTdpCsv, "cpu_tdp.csv");
  if (!table || wanted.empty()) return std::nullopt;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    if (normalised(table->cell(row, 0)) != wanted) continue;
    if (const auto watts = table->number(row, 1)) return Watts(*watts);
  }
  return std::nullopt;
}

const CpuLoadCurve& CpuLoadCurve::shipped() {
  static const CpuLoadCurve curve = [] {
    std::vector<Knot> knots;
    const auto table = parse_csv(kCpuLoadCurveCsv, "cpu_load_curve.csv");
    for (std::size_t row = 0; table && row < table->rows(); ++row) {
      const auto cell = [&](std::size_t column) { return table->number(row, column).value_or(0); };
      knots.push_back({cell(0), cell(1), cell(2), cell(3)});
    }
    return CpuLoadCurve(std::move(knots));
  }();
  return curve;
}

namespace {
CpuLoadCurve::Knot between(const CpuLoadCurve::Knot& a, const CpuLoadCurve::Knot& b, double share) {
  const auto mix = [share](double x, double y) { return x + (y - x) * share; };
  return {mix(a.load, b.load), mix(a.centre, b.centre), mix(a.low, b.low), mix(a.high, b.high)};
}

/// Linear interpolation in one member of the knots.
CpuLoadCurve::Knot find(const std::vector<CpuLoadCurve::Knot>& knots, double value,
                        double CpuLoadCurve::Knot::*member) {
  if (value <= knots.front().*member) return knots.front();
  for (std::size_t i = 1; i < knots.size(); ++i) {
    const double from = knots[i - 1].*member;
    const double to = knots[i].*member;
    if (value <= to)
      return between(knots[i - 1], knots[i], to > from ? (value - from) / (to - from) : 1);
  }
  return knots.back();
}
}  // namespace

CpuLoadCurve::Knot CpuLoadCurve::at(double load) const { return find(knots_, load, &Knot::load); }
CpuLoadCurve::Knot CpuLoadCurve::at_centre(double share) const {
  return find(knots_, share, &Knot::centre);
}

namespace {

/// Integrates estimated power over /proc/stat's CPU time at every read.
class CpuEstimator final : public Source {
 public:
  CpuEstimator(SourceInfo info, Watts tdp, double widening, FileDescriptor proc_stat,
               const Clock& clock)
      : info_(std::move(info)),
        tdp_(tdp),
        widening_(widening),
        proc_stat_(std::move(proc_stat)),
        clock_(clock) {}

  const SourceInfo& info() const noexcept override { return info_; }

  Reading read() noexcept override {
    char text[512];
    const ssize_t count = ::pread(proc_stat_.get(), text, sizeof(text), 0);
    if (count <= 0) return {ErrorCode::kUnavailable, 0};
    const auto times = parse_cpu_times(std::string_view(text, static_cast<std::size_t>(count)));
    if (!times) return {times.error().code, 0};
    const Instant now = clock_.now();
    if (!primed_) {
      primed_ = true;
    } else if (now > last_at_) {
      const Seconds busy = times->busy - last_.busy;
      const Seconds all = busy + (times->idle - last_.idle);
      // /proc/stat counts in hundredths of a second: shorter spans keep the load they had.
      if (all.value() > 0) load_ = std::clamp(busy / all, 0.0, 1.0);
      joules_ += tdp_ * CpuLoadCurve::shipped().at(load_).centre * (now - last_at_);
    }
    last_ = *times;
    last_at_ = now;
    return {ErrorCode::kOk, static_cast<std::uint64_t>(joules_.value() * 1e6)};
  }

  std::optional<PowerInterval> interval(Watts mean) const override {
    const CpuLoadCurve::Knot knot = CpuLoadCurve::shipped().at_centre(mean / tdp_);
    return PowerInterval{tdp_ * knot.low / widening_, tdp_ * knot.high * widening_};
  }

 private:
  SourceInfo info_;
  Watts tdp_;
  double widening_;
  FileDescriptor proc_stat_;
  const Clock& clock_;
  bool primed_ = false;
  CpuTimes last_;
  Instant last_at_;
  double load_ = 0;
  Joules joules_;
};

class EstimatedCpu final : public Device {
 public:
  EstimatedCpu(DeviceInfo info, std::unique_ptr<Source> source)
      : info_(std::move(info)), source_(std::move(source)) {}
  const DeviceInfo& info() const override { return info_; }
  std::vector<Source*> sources() override { return {source_.get()}; }

 private:
  DeviceInfo info_;
  std::unique_ptr<Source> source_;
};

}  // namespace

Discovered discover_cpu_estimator(const Roots& roots, const Clock& clock) {
  Discovered found;
  auto proc_stat = open_for_reading(roots.procfs + "/stat");
  if (!proc_stat) {
    found.problems.push_back({"CPU estimator", proc_stat.error()});
    return found;
  }
  const CpuFacts facts = read_cpu_facts(roots);
  const auto known = find_cpu_tdp(facts.model);
  // In a virtual machine only the processors it was given are its own.
  const Watts tdp = known && !facts.hypervisor
                        ? *known * facts.packages
                        : kTypicalTdpPerLogicalProcessor * facts.logical_processors;
  DeviceInfo device;
  device.id = "cpu:0";
  device.kind = DeviceKind::kCpu;
  device.name = facts.model;
  device.driver = "estimate from CPU time";
  device.note = fmt::format(
      "no meter: power is estimated from CPU time, with {} for the processors",
      known && !facts.hypervisor ? to_text(tdp, 3) + " TDP"
                                 : to_text(tdp, 3) + " assumed, 4 W a logical processor");
  SourceInfo info;
  info.id = "cpu:0/estimate";
  info.device = device.id;
  info.backend = "estimator";
  info.scope = "package";
  info.kind = SourceKind::kEnergyCounter;
  info.status = Status::kEstimated;
  info.tick = Seconds(0.01);
  info.max_power = tdp * 4.0;
  const double widening = known && !facts.hypervisor ? 1 : kUnknownTdpFactor;
  auto source = std::make_unique<CpuEstimator>(info, tdp, widening, std::move(*proc_stat), clock);
  found.devices.push_back(std::make_unique<EstimatedCpu>(std::move(device), std::move(source)));
  return found;
}

}  // namespace perjoule
