// The C interface of include/perjoule/perjoule.h.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "api/c_abi_parts.h"
#include "api/guard.h"
#include "api/step_tuner.h"
#include "base/file.h"
#include "base/text.h"
#include "meter/measurement_json.h"

using perjoule::Error;
using perjoule::guard;
using perjoule::Outcome;
using perjoule::c_abi::give;
using perjoule::c_abi::need;
using perjoule::c_abi::taken;

struct pj_window {
  perjoule::Window window;
};
struct pj_steps {
  std::unique_ptr<perjoule::StepTuner> tuner;
  std::string json;
};
struct pj_result {
  perjoule::Measurement measurement;
  std::string json;
};

namespace {

pj_energy energy_of(const perjoule::Energy& energy) {
  pj_energy out{};
  out.joules = energy.joules.value();
  out.expanded_j = energy.expanded_uncertainty().value();
  out.lower_j = energy.lower.value();
  out.upper_j = energy.upper.value();
  out.state = static_cast<int32_t>(energy.status);
  out.grade = perjoule::name_of(energy.grade())[0];
  out.boundary = perjoule::name_of(energy.boundary)[1];
  out.is_lower_bound = energy.lower_bound ? 1 : 0;
  out.is_upper_bound = energy.upper_bound ? 1 : 0;
  return out;
}

/// The words of a caller's list.
perjoule::Result<std::vector<std::string>> words_of(const char* const* words, std::size_t count) {
  if (count > 0 && words == nullptr)
    return Error::invalid_argument("sources is null and source_count is not 0");
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) {
    if (words[i] == nullptr) return Error::invalid_argument("a source is null");
    out.emplace_back(words[i]);
  }
  return out;
}

/// The ids of the sources that the words name.
perjoule::Result<std::vector<std::string>> chosen_sources(perjoule::Meter& meter,
                                                          const pj_window_options& options) {
  PJ_TRY(const std::vector<std::string> words, words_of(options.sources, options.source_count));
  std::vector<const perjoule::SourceInfo*> all;
  all.reserve(meter.channels().size());
  for (const auto& channel : meter.channels()) all.push_back(&channel->info());
  return perjoule::sources_named(words, all);
}

perjoule::Result<perjoule::WindowOptions> window_options(perjoule::Meter& meter,
                                                         const pj_window_options* given) {
  PJ_TRY(const pj_window_options options, taken(given));
  perjoule::WindowOptions out;
  PJ_TRY(out.sources, chosen_sources(meter, options));
  out.tick_aligned = options.tick_aligned != 0;
  PJ_TRY(out.sync, perjoule::c_abi::sync_of(options));
  return out;
}

/// 0 stands for the usual value, below 0 for none.
double or_usual(double given, double usual) { return given == 0 ? usual : std::max(given, 0.0); }

perjoule::Result<perjoule::PowerLimitPlan> step_plan(const pj_steps_options* given) {
  PJ_TRY(const pj_steps_options options, taken(given));
  for (const double number :
       {options.warm_up_steps, options.profile_steps, options.least_s, options.drift}) {
    if (!std::isfinite(number)) return Error::invalid_argument("an option is not a finite number");
  }
  perjoule::PowerLimitPlan plan;
  if (options.rule != nullptr) {
    PJ_TRY(plan.rule, perjoule::parse_rule(options.rule));
  }
  plan.warm_up_steps = or_usual(options.warm_up_steps, plan.warm_up_steps);
  plan.per_gpu = options.per_gpu != 0;
  plan.profile_steps = or_usual(options.profile_steps, plan.profile_steps);
  plan.least_time = perjoule::Seconds(or_usual(options.least_s, plan.least_time.value()));
  plan.drift = or_usual(options.drift, plan.drift);
  return plan;
}

}  // namespace

const char* pj_version(void) { return PERJOULE_VERSION; }

const char* pj_last_error(void) { return perjoule::last_error().c_str(); }

const char* pj_state_name(int32_t state) {
  if (state < PJ_MEASURED || state > PJ_ZERO) return "unknown";
  return perjoule::name_of(static_cast<perjoule::Status>(state)).data();
}

pj_status pj_open(const pj_open_options* options, pj_session** session) {
  return guard([&]() -> Outcome {
    PJ_CHECK(need(session, "session"));
    *session = nullptr;
    PJ_TRY(const pj_open_options given, taken(options));
    if (!(given.sample_every_s >= 0) || given.sample_every_s > 3600) {
      return Error::invalid_argument("sample_every_s is outside 0 to 3600");
    }
    perjoule::Session::Options chosen;
    chosen.sample_every = perjoule::Seconds(given.sample_every_s);
    chosen.estimate_cpu = given.no_estimate == 0;
    PJ_TRY(chosen.sources, words_of(given.sources, given.source_count));
    PJ_TRY(auto opened, perjoule::Session::open(perjoule::Roots::from_environment(), chosen));
    *session = new pj_session{std::move(opened)};
    return {};
  });
}

void pj_close(pj_session* session) { delete session; }

size_t pj_source_count(const pj_session* session) {
  return session == nullptr ? 0 : session->session->meter().channels().size();
}

pj_status pj_source_at(const pj_session* session, size_t index, pj_source* source) {
  return guard([&]() -> Outcome {
    PJ_CHECK(need(session, "session"));
    const auto& channels = session->session->meter().channels();
    if (index >= channels.size()) return Error::out_of_range("no source of that index");
    const perjoule::SourceInfo& info = channels[index]->info();
    pj_source out{};
    out.id = info.id.c_str();
    out.scope = info.scope.c_str();
    out.backend = info.backend.c_str();
    out.tick_s = info.tick.value();
    out.summed = info.overlaps.empty() ? 1 : 0;
    return give(out, source);
  });
}

pj_status pj_begin(pj_session* session, const char* name, const pj_window_options* options,
                   pj_window** window) {
  return guard([&]() -> Outcome {
    PJ_CHECK(need(session, "session"));
    PJ_CHECK(need(window, "window"));
    *window = nullptr;
    perjoule::Meter& meter = session->session->meter();
    PJ_TRY(perjoule::WindowOptions chosen, window_options(meter, options));
    PJ_TRY(perjoule::Window begun, meter.begin(name != nullptr ? name : "", std::move(chosen)));
    *window = new pj_window{std::move(begun)};
    return {};
  });
}

pj_status pj_end(pj_window* window, pj_result** result) {
  const std::unique_ptr<pj_window> owned(window);
  return guard([&]() -> Outcome {
    PJ_CHECK(need(window, "window"));
    PJ_CHECK(need(result, "result"));
    *result = nullptr;
    *result = new pj_result{owned->window.end(), {}};
    return {};
  });
}

void pj_drop(pj_window* window) { delete window; }

pj_status pj_result_total(const pj_result* result, pj_energy* energy) {
  return guard([&]() -> Outcome {
    PJ_CHECK(need(result, "result"));
    return give(energy_of(result->measurement.total()), energy);
  });
}

pj_status pj_result_source(const pj_result* result, size_t index, pj_energy* energy) {
  return guard([&]() -> Outcome {
    PJ_CHECK(need(result, "result"));
    if (index >= result->measurement.sources.size())
      return Error::out_of_range("no source of that index");
    return give(energy_of(result->measurement.sources[index].energy), energy);
  });
}

double pj_result_seconds(const pj_result* result) {
  return result == nullptr ? 0 : result->measurement.duration.value();
}

int32_t pj_result_sync(const pj_result* result) {
  return result == nullptr ? PJ_NOT_REQUESTED : static_cast<int32_t>(result->measurement.sync);
}

const char* pj_result_json(pj_result* result) {
  if (result == nullptr) return "null";
  const pj_status status = guard([&]() -> Outcome {
    if (result->json.empty()) result->json = perjoule::to_json(result->measurement).dump();
    return {};
  });
  return status == PJ_OK ? result->json.c_str() : "null";
}

void pj_result_free(pj_result* result) { delete result; }

pj_status pj_steps_begin(pj_session* session, const pj_steps_options* options, pj_steps** steps) {
  return guard([&]() -> Outcome {
    PJ_CHECK(need(session, "session"));
    PJ_CHECK(need(steps, "steps"));
    *steps = nullptr;
    PJ_TRY(perjoule::PowerLimitPlan plan, step_plan(options));
    PJ_TRY(auto tuner, perjoule::StepTuner::begin(*session->session, std::move(plan)));
    *steps = new pj_steps{std::move(tuner), {}};
    return {};
  });
}

pj_status pj_steps_done(pj_steps* steps, double count) {
  return guard([&]() -> Outcome {
    PJ_CHECK(need(steps, "steps"));
    return steps->tuner->step(count);
  });
}

pj_status pj_steps_epoch_ended(pj_steps* steps) {
  return guard([&]() -> Outcome {
    PJ_CHECK(need(steps, "steps"));
    return steps->tuner->epoch_ended();
  });
}

int32_t pj_steps_settled(const pj_steps* steps) {
  return steps != nullptr && steps->tuner->settled() ? 1 : 0;
}

double pj_steps_limit_w(const pj_steps* steps) {
  if (steps == nullptr) return 0;
  return steps->tuner->optimizer().limit().value_or(perjoule::Watts(0)).value();
}

const char* pj_steps_json(pj_steps* steps) {
  if (steps == nullptr) return "null";
  const pj_status status = guard([&]() -> Outcome {
    steps->json = steps->tuner->json();
    return {};
  });
  return status == PJ_OK ? steps->json.c_str() : "null";
}

pj_status pj_steps_end(pj_steps* steps) {
  const std::unique_ptr<pj_steps> owned(steps);
  return guard([&]() -> Outcome { return steps == nullptr ? Outcome() : steps->tuner->end(); });
}

pj_status pj_unit_done(double units) {
  return guard([&]() -> Outcome {
    if (!(units >= 0)) return Error::invalid_argument("units is below 0 or not a number");
    const char* variable = std::getenv("PERJOULE_UNIT_FD");
    if (variable == nullptr) return {};
    const auto fd = perjoule::parse_integer(variable);
    if (!fd || *fd < 0) return Error::invalid_argument("PERJOULE_UNIT_FD is not a descriptor");
    const std::string line = perjoule::exact(units) + "\n";
    // A full pipe means that the reader is behind; a lost unit is worse than a short wait.
    while (::write(static_cast<int>(*fd), line.data(), line.size()) < 0) {
      if (errno != EINTR && errno != EAGAIN) return Error::from_errno(errno, "reporting units");
      ::usleep(1000);
    }
    return {};
  });
}
