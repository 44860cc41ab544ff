#include "cli/bench_remote.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/table.h"
#include "serving/bench/bench_document.h"

namespace perjoule::cli {
namespace {

constexpr Seconds kLook{2};

Seconds unix_time(const BenchRun& run, Instant at) {
  return Seconds(static_cast<double>(run.begun_unix_ns) * 1e-9) + (at - run.load.begun);
}

SourceMeasurement source_of(const RemoteGpu& gpu) {
  SourceMeasurement source;
  source.info.device = "gpu:" + gpu.uuid;
  source.info.id = source.info.device + "/prometheus";
  // Where our own meter sees the same GPU, it is not counted twice.
  source.info.overlaps = {source.info.device};
  source.info.backend = "prometheus";
  source.info.kind = SourceKind::kEnergyCounter;
  source.info.boundary = gpu.energy.boundary;
  source.info.status = gpu.energy.status;
  source.energy = gpu.energy;
  if (gpu.resets > 0) source.notes.push_back("its counter began anew within the window");
  return source;
}

}  // namespace

std::vector<Option> bench_remote_options() {
  return {
      {"prometheus", "URL",
       "measure the GPUs of the server's machine by what this Prometheus keeps of dcgm-exporter"},
      {"prometheus-selector", "LABELS", "which of them: 'Hostname=\"n1\",gpu=~\"0|1\"'"},
      {"prometheus-age", "TIME", "how often the exporter itself collects (its -c)", "30s"},
      {"prometheus-wait", "TIME", "how long its samples from behind the run are waited for", "90s"},
  };
}

Result<std::unique_ptr<RemoteGpus>> RemoteGpus::find(const Arguments& arguments,
                                                     const Clock& clock) {
  if (!arguments.has("prometheus")) return std::unique_ptr<RemoteGpus>();
  PrometheusOptions options;
  auto url = HttpUrl::parse(arguments.value("prometheus"));
  if (!url) return fail(url, "--prometheus");
  options.url = std::move(*url);
  PJ_TRY(const auto patience, arguments.read<Seconds>("prometheus-wait", parse_seconds));
  if (!(patience->value() >= 0)) {
    return Error::invalid_argument("--prometheus-wait " + arguments.value("prometheus-wait") +
                                   ": below 0");
  }
  PJ_TRY(const auto age, arguments.read<Seconds>("prometheus-age", parse_seconds));
  if (!(age->value() > 0)) {
    return Error::invalid_argument("--prometheus-age " + arguments.value("prometheus-age") +
                                   ": not above 0");
  }
  std::unique_ptr<RemoteGpus> gpus(
      new RemoteGpus(std::move(options), arguments.value("prometheus-selector"), *patience, clock));
  gpus->age_ = *age;
  const Seconds now(static_cast<double>(clock.unix_ns()) * 1e-9);
  PJ_TRY(RemoteEnergy found, gpus->between(now - Seconds(120), now));
  gpus->gpus_ = std::move(found.gpus);
  return gpus;
}

Result<RemoteEnergy> RemoteGpus::between(Seconds from, Seconds until) const {
  return remote_gpu_energy(
      server_, {.selector = selector_, .from = from, .until = until, .collected_every = age_});
}

void RemoteGpus::wait_for(const BenchRun& run) const {
  const Instant give_up = clock_.now() + patience_;
  const Seconds end = unix_time(run, run.load.ended);
  complain("waiting for Prometheus to have the run's end");
  // A window that lies behind the run is known once there are samples behind it.
  while (clock_.now() < give_up) {
    const auto behind = between(end - Seconds(0.5), end);
    const bool is_there =
        behind && behind->total.status != Status::kMissing && !behind->total.one_sided();
    if (is_there) return;
    clock_.sleep_until(clock_.now() + kLook);
  }
}

RemoteMeter RemoteGpus::meter(const BenchRun& run) const {
  return [this, &run](Instant from, Instant until) {
    std::vector<SourceMeasurement> sources;
    const auto drawn = between(unix_time(run, from), unix_time(run, until));
    if (drawn) {
      for (const RemoteGpu& gpu : drawn->gpus) sources.push_back(source_of(gpu));
      if (!sources.empty())
        sources.front().notes.insert(sources.front().notes.end(), drawn->notes.begin(),
                                     drawn->notes.end());
      return sources;
    }
    SourceMeasurement missing;
    missing.info.id = "prometheus";
    missing.energy = Energy::missing("prometheus");
    missing.notes.push_back(drawn.error().text());
    sources.push_back(std::move(missing));
    return sources;
  };
}

void RemoteGpus::describe(BenchContext& context) const {
  if (gpus_.empty()) return;
  context.gpus.count = static_cast<std::int64_t>(gpus_.size());
  context.gpus.name = gpus_.front().model;
  context.gpus.model = short_gpu_name(context.gpus.name);
}

}  // namespace perjoule::cli
