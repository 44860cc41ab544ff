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

/// Of one figure: the energy of so many tokens, which is missing where there are none.
Energy per(const Energy& energy, const std::optional<double>& count) {
  if (!count || !(*count > 0)) return Energy::missing(energy.source, energy.boundary);
  return energy / *count;
}

/// Whether a series of tokens fell or left the page: then a sum of series tells nothing, even
/// where it rose.
bool has_series_fallen(const MetricsText& before, const MetricsText& after) {
  using Key = std::vector<std::pair<std::string, std::string>>;
  const auto key_of = [](const MetricSample& sample) {
    Key key{{"", sample.name}};
    for (const MetricLabel& label : sample.labels) key.emplace_back(label.name, label.value);
    std::sort(key.begin(), key.end());
    return key;
  };
  for (const EngineCounter which :
       {EngineCounter::kPromptTokens, EngineCounter::kGenerationTokens}) {
    std::map<Key, double> now;
    for (const MetricSample* sample : counter_samples(after, which))
      now[key_of(*sample)] = sample->value;
    for (const MetricSample* sample : counter_samples(before, which)) {
      const auto found = now.find(key_of(*sample));
      if (found == now.end() || !(found->second >= sample->value)) return true;
    }
  }
  return false;
}

/// How a server's energy falls on its users is a model, whoever measured the whole.
Energy estimated(Energy energy) {
  if (energy.status == Status::kMissing) return energy;
  energy.mixed_with.add(energy.status);
  energy.status = Status::kEstimated;
  energy.mixed_with.remove(Status::kEstimated);
  return energy;
}

LiveShare nobodys(ShareKind kind, const Energy& energy) {
  LiveShare share;
  share.kind = kind;
  share.share = 1;
  share.energy = estimated(energy);
  return share;
}

std::vector<LiveShare> shares_of(const std::vector<LabelTokens>& before,
                                 const std::vector<LabelTokens>& after, const LiveFigures& figures,
                                 double output_weight) {
  std::map<std::string, LabelTokens> was;
  for (const LabelTokens& one : before) was[one.value] = one;
  std::vector<LiveShare> shares;
  double sum = 0;
  for (const LabelTokens& one : after) {
    LiveShare share;
    share.value = one.value;
    const double prompts = one.prompt - was[one.value].prompt;
    const double outputs = one.output - was[one.value].output;
    if (figures.prompt_tokens) share.prompt_tokens = prompts;
    share.output_tokens = outputs;
    share.share = prompts + output_weight * outputs;
    sum += *share.share;
    shares.push_back(std::move(share));
  }
  for (LiveShare& one : shares) {
    one.share = sum > 0 ? *one.share / sum : 0;
    one.energy = estimated(figures.energy * *one.share);
  }
  if (!(sum > 0)) shares.push_back(nobodys(ShareKind::kIdle, figures.energy));
  std::sort(shares.begin(), shares.end(), [](const LiveShare& a, const LiveShare& b) {
    return *a.share > *b.share || (*a.share == *b.share && a.value < b.value);
  });
  return shares;
}

/// Why the tokens between two pages are not known; empty where they are.
std::vector<std::string> why_unknown(const EnginePage& before, const EnginePage& after,
                                     const Result<EngineChange>& change) {
  std::vector<std::string> notes;
  if (!change) return {change.error().text()};
  const auto tell = [&](const std::vector<std::string>& names, const char* what) {
    for (const std::string& name : names)
      notes.push_back(fmt::format("{} {}: the tokens of this while are not known", name, what));
  };
  tell(change->restarted, "was restarted");
  tell(change->appeared, "is new");
  tell(change->vanished, "is gone");
  if (notes.empty() && has_series_fallen(before.page, after.page))
    notes.emplace_back(
        "a counter of tokens fell or left the page: the tokens of this while are not known");
  return notes;
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
  list.reserve(values.size());
  for (auto& [value, tokens] : values) list.push_back(std::move(tokens));
  return list;
}

LiveFigures live_figures(const EnginePage& before, const EnginePage& after, const LiveSpan& span,
                         const LiveOptions& options) {
  LiveFigures figures;
  figures.duration = after.scrape.at - before.scrape.at;
  figures.energy = span.energy;
  if (span.energy.status != Status::kMissing) figures.energy_time = span.duration;
  figures.running = after.scrape.gauge(EngineGauge::kRunning);
  figures.waiting = after.scrape.gauge(EngineGauge::kWaiting);
  const auto change = engine_change(before.scrape, after.scrape);
  figures.notes = why_unknown(before, after, change);
  if (figures.notes.empty()) {
    figures.prompt_tokens = change->counter(EngineCounter::kPromptTokens);
    figures.output_tokens = change->counter(EngineCounter::kGenerationTokens);
    if (!figures.prompt_tokens) figures.notes.emplace_back("no counter of prompt tokens");
    if (!figures.output_tokens) figures.notes.emplace_back("no counter of output tokens");
  }
  figures.notes.insert(figures.notes.end(), span.notes.begin(), span.notes.end());
  if (figures.output_tokens) figures.tokens_time = figures.duration;
  if (figures.has_energy() && figures.output_tokens) figures.known_time = figures.duration;
  if (figures.has_energy() && span.duration.value() > 0) {
    // Some moment within: uniform, at the mean power.
    const Watts sigma = span.energy.joules / span.duration / std::sqrt(3.0);
    figures.first_slip = sigma * span.first_slip;
    figures.last_slip = sigma * span.last_slip;
    figures.gap = sigma * span.gap;
  }
  Energy of_tokens = span.energy;
  of_tokens.random = Joules(
      std::hypot(of_tokens.random.value(), figures.first_slip.value(), figures.last_slip.value()));
  figures.output_token = per(of_tokens, figures.output_tokens);
  if (figures.output_tokens && figures.prompt_tokens)
    figures.total_token = per(of_tokens, *figures.output_tokens + *figures.prompt_tokens);
  if (options.split_by.empty()) return figures;
  const auto was = tokens_by_label(before.page, options.split_by);
  const auto is = tokens_by_label(after.page, options.split_by);
  if (figures.output_tokens && was && is) {
    figures.shares = shares_of(*was, *is, figures, options.output_weight);
    return figures;
  }
  if (!was || !is) figures.notes.push_back((is ? was : is).error().text());
  figures.shares = {nobodys(ShareKind::kUnknown, figures.energy)};
  return figures;
}

LiveEnergy::LiveEnergy(Meter& meter, Reader read, LiveOptions options)
    : meter_(meter), read_(std::move(read)), options_(std::move(options)) {}

Outcome LiveEnergy::begin() {
  PJ_TRY(last_, read_());
  if (!options_.split_by.empty()) {
    const auto split = tokens_by_label(last_->page, options_.split_by);
    if (!split) return fail(split);
  }
  PJ_TRY(window_, meter_.begin("watch"));
  begun_ = window_begun_ = meter_.clock().now();
  slip_ = window_begun_ - last_->scrape.at + last_->within;
  return {};
}

Result<LiveSpan> LiveEnergy::measure() {
  const Instant closed = meter_.clock().now();
  const Measurement drawn = window_->so_far();
  PJ_TRY(window_, meter_.begin("watch"));
  window_begun_ = meter_.clock().now();
  LiveSpan span;
  span.energy = drawn.total();
  span.duration = drawn.duration;
  span.first_slip = slip_;
  span.gap = gap_;
  gap_ = window_begun_ - closed;
  if (span.energy.status == Status::kMissing || span.energy.one_sided()) {
    for (const SourceMeasurement& source : drawn.sources) {
      if (!drawn.is_summed(source)) continue;
      for (const std::string& note : source.notes)
        span.notes.push_back(source.info.id + ": " + note);
    }
  }
  return span;
}

Result<LiveFigures> LiveEnergy::step() {
  is_behind_ = true;
  PJ_TRY(EnginePage page, read_());
  PJ_TRY(LiveSpan span, measure());
  is_behind_ = false;
  slip_ = window_begun_ - page.scrape.at + page.within;
  span.last_slip = slip_;
  LiveFigures figures = live_figures(*last_, page, span, options_);
  last_ = std::move(page);
  sum_.add(figures);
  return figures;
}

LiveFigures LiveEnergy::end() {
  if (is_behind_) {
    is_behind_ = false;
    if (const auto span = measure()) {
      LiveFigures figures;
      figures.energy = span->energy;
      if (span->energy.status != Status::kMissing) figures.energy_time = span->duration;
      figures.notes = span->notes;
      if (!options_.split_by.empty())
        figures.shares = {nobodys(ShareKind::kUnknown, figures.energy)};
      sum_.add(figures);
    }
  }
  return sum_.figures(window_begun_ - begun_);
}

}  // namespace perjoule
