#include "serving/engine/live_energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "serving/engine/engine_names.h"

namespace perjoule {
namespace {

/// The samples of a counter under the first of its names that the page has.
std::vector<const MetricSample*> counter_samples(const MetricsText& page, EngineCounter which) {
  for (const EngineNames& names : kEngineNames) {
    for (const std::string_view name : names.counters[static_cast<std::size_t>(which)]) {
      if (name.empty()) continue;
      for (const std::string_view end : {"_total", ""}) {
        auto found = page.named(std::string(names.prefix) + std::string(name) + std::string(end));
        if (!found.empty()) return found;
      }
    }
  }
  return {};
}

Energy per(const Energy& energy, double count) {
  if (!(count > 0)) return Energy::missing(energy.source, energy.boundary);
  return energy / count;
}

std::vector<LiveShare> shares_of(const std::vector<LabelTokens>& before,
                                 const std::vector<LabelTokens>& after, const Energy& energy,
                                 double output_weight) {
  std::map<std::string, LabelTokens> was;
  for (const LabelTokens& one : before) was[one.value] = one;
  std::vector<LiveShare> shares;
  double sum = 0;
  for (const LabelTokens& one : after) {
    LiveShare share;
    share.value = one.value;
    share.prompt_tokens = std::max(0.0, one.prompt - was[one.value].prompt);
    share.output_tokens = std::max(0.0, one.output - was[one.value].output);
    share.share = share.prompt_tokens + output_weight * share.output_tokens;
    sum += share.share;
    shares.push_back(std::move(share));
  }
  for (LiveShare& one : shares) {
    one.share = sum > 0 ? one.share / sum : 0;
    one.energy = energy * one.share;
    // How a server's energy falls on its users is a model, whoever measured the whole.
    if (one.energy.status != Status::kMissing) {
      one.energy.mixed_with.add(one.energy.status);
      one.energy.status = Status::kEstimated;
      one.energy.mixed_with.remove(Status::kEstimated);
    }
  }
  std::sort(shares.begin(), shares.end(), [](const LiveShare& a, const LiveShare& b) {
    return a.share > b.share || (a.share == b.share && a.value < b.value);
  });
  return shares;
}

}  // namespace

Result<std::vector<LabelTokens>> tokens_by_label(const MetricsText& page, std::string_view label) {
  std::map<std::string, LabelTokens> values;
  std::set<std::string> labels;
  bool found = false;
  const auto add = [&](EngineCounter which, double LabelTokens::*member) {
    for (const MetricSample* sample : counter_samples(page, which)) {
      for (const MetricLabel& one : sample->labels) {
        labels.insert(one.name);
        found |= one.name == label;
      }
      const std::string value(sample->label(label));
      values[value].value = value;
      values[value].*member += sample->value;
    }
  };
  add(EngineCounter::kPromptTokens, &LabelTokens::prompt);
  add(EngineCounter::kGenerationTokens, &LabelTokens::output);
  if (!found) {
    std::string names;
    for (const std::string& name : labels) names += (names.empty() ? "" : ", ") + name;
    return Error::not_found(
        fmt::format("the server's counters of tokens have no label '{}'", label),
        names.empty() ? "they have none at all" : "there are " + names);
  }
  std::vector<LabelTokens> list;
  for (auto& [value, tokens] : values) list.push_back(std::move(tokens));
  return list;
}

Result<LiveFigures> live_figures(const EnginePage& before, const EnginePage& after,
                                 const Energy& energy, const LiveOptions& options) {
  LiveFigures figures;
  PJ_TRY(figures.engine, engine_change(before.scrape, after.scrape));
  figures.duration = figures.engine.duration;
  figures.energy = energy;
  if (figures.duration.value() > 0) figures.power = energy.joules / figures.duration;
  figures.running = after.scrape.gauge(EngineGauge::kRunning);
  figures.waiting = after.scrape.gauge(EngineGauge::kWaiting);
  const EngineChange& change = figures.engine;
  const auto tell = [&](const std::vector<std::string>& names, const char* what) {
    for (const std::string& name : names)
      figures.notes.push_back(
          fmt::format("{} {}: the tokens of this while are not known", name, what));
  };
  tell(change.restarted, "was restarted");
  tell(change.appeared, "is new");
  tell(change.vanished, "is gone");
  if (!change.is_whole()) return figures;
  figures.prompt_tokens = change.counter(EngineCounter::kPromptTokens).value_or(0);
  figures.output_tokens = change.counter(EngineCounter::kGenerationTokens).value_or(0);
  figures.output_token = per(energy, figures.output_tokens);
  figures.total_token = per(energy, figures.output_tokens + figures.prompt_tokens);
  if (!options.split_by.empty()) {
    PJ_TRY(const auto was, tokens_by_label(before.page, options.split_by));
    PJ_TRY(const auto is, tokens_by_label(after.page, options.split_by));
    figures.shares = shares_of(was, is, energy, options.output_weight);
  }
  return figures;
}

LiveEnergy::LiveEnergy(Meter& meter, std::unique_ptr<EngineReader> reader, LiveOptions options)
    : meter_(meter), reader_(std::move(reader)), options_(std::move(options)) {}

Outcome LiveEnergy::begin() {
  PJ_TRY(Window window, meter_.begin("watch"));
  window_ = std::move(window);
  PJ_TRY(first_, look());
  if (!options_.split_by.empty()) {
    const auto split = tokens_by_label(first_->page.page, options_.split_by);
    if (!split) return fail(split);
  }
  last_ = first_;
  return {};
}

Result<LiveEnergy::Look> LiveEnergy::look() {
  Look look;
  PJ_TRY(look.page, reader_->read());
  const Measurement so_far = window_->so_far();
  const Seconds lag = meter_.clock().now() - look.page.scrape.at;
  look.energy = so_far.total();
  // Some moment between the two: uniform, at the mean power.
  const Joules slip = so_far.mean_power() * lag / std::sqrt(3.0);
  look.energy.random = Joules(std::hypot(look.energy.random.value(), slip.value()));
  return look;
}

Result<LiveFigures> LiveEnergy::step() {
  PJ_TRY(Look now, look());
  auto figures = live_figures(last_->page, now.page, now.energy - last_->energy, options_);
  last_ = std::move(now);
  return figures;
}

Result<LiveFigures> LiveEnergy::whole() const {
  return live_figures(first_->page, last_->page, last_->energy - first_->energy, options_);
}

}  // namespace perjoule
