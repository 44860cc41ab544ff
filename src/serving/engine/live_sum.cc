// The whole of steps, and what follows from figures.
#include <algorithm>
#include <cmath>

#include "serving/engine/live_energy.h"

namespace perjoule {
namespace {

constexpr std::size_t kMostNotes = 50;

void add_count(std::optional<double>& sum, const std::optional<double>& more) {
  if (more) sum = sum.value_or(0) + *more;
}

void add_energy(std::optional<Energy>& sum, const Energy& more) { sum = sum ? *sum + more : more; }

}  // namespace

Energy LiveFigures::per_second() const {
  if (!(energy_time.value() > 0)) return Energy::missing(energy.source, energy.boundary);
  return energy / energy_time.value();
}

std::optional<Watts> LiveFigures::power() const {
  if (!has_energy() || !(energy_time.value() > 0)) return std::nullopt;
  return energy.joules / energy_time;
}

std::optional<Watts> LiveFigures::power_expanded() const {
  if (!power()) return std::nullopt;
  return energy.expanded_uncertainty() / energy_time;
}

std::optional<double> LiveFigures::tokens_per_joule() const {
  const Energy& one = output_token;
  if (one.status == Status::kMissing || one.one_sided() || !(one.joules.value() > 0))
    return std::nullopt;
  return 1 / one.joules.value();
}

std::optional<double> LiveFigures::tokens_per_joule_expanded() const {
  const auto tokens = tokens_per_joule();
  if (!tokens) return std::nullopt;
  return *tokens * (output_token.expanded_uncertainty() / output_token.joules);
}

std::optional<double> LiveFigures::tokens_per_second() const {
  if (!output_tokens || !(tokens_time.value() > 0)) return std::nullopt;
  return *output_tokens / tokens_time.value();
}

void LiveSum::add(const LiveFigures& step) {
  const bool has_energy = step.has_energy();
  const bool has_tokens = step.output_tokens.has_value();
  if (has_energy) {
    const bool is_first = !whole_.has_energy();
    whole_.energy = is_first ? step.energy : whole_.energy + step.energy;
    whole_.energy_time += step.energy_time;
  } else if (!whole_.has_energy()) {
    whole_.energy = Energy::missing(step.energy.source, step.energy.boundary);
  }
  add_count(whole_.prompt_tokens, step.prompt_tokens);
  add_count(whole_.output_tokens, step.output_tokens);
  whole_.tokens_time += step.tokens_time;
  whole_.is_partial |= !has_energy || !has_tokens;
  if (has_energy && has_tokens) {
    add_token_energy(step);
  } else {
    open_edge_.reset();
  }
  add_shares(step);
  whole_.running = step.running;
  whole_.waiting = step.waiting;
  for (const std::string& note : step.notes) {
    auto& notes = whole_.notes;
    if (notes.size() < kMostNotes && std::find(notes.begin(), notes.end(), note) == notes.end())
      notes.push_back(note);
  }
}

void LiveSum::add_token_energy(const LiveFigures& step) {
  add_energy(token_energy_, step.energy);
  token_outputs_ += *step.output_tokens;
  if (token_prompts_ && step.prompt_tokens) {
    *token_prompts_ += *step.prompt_tokens;
  } else {
    token_prompts_.reset();
  }
  whole_.known_time += step.known_time;
  // What one step has too much at an edge, the step beside it lacks.
  const auto square = [](Joules sigma) { return sigma.value() * sigma.value(); };
  if (open_edge_) {
    edge_variance_ -= square(*open_edge_);
    gaps_ += step.gap;
  } else {
    edge_variance_ += square(step.first_slip);
  }
  edge_variance_ += square(step.last_slip);
  open_edge_ = step.last_slip;
}

void LiveSum::add_shares(const LiveFigures& step) {
  for (const LiveShare& one : step.shares) {
    const bool has_energy = one.energy.status != Status::kMissing && !one.energy.one_sided();
    if (one.kind != ShareKind::kValue && !has_energy) continue;
    const auto [at, is_new] = shares_.try_emplace({one.kind, one.value});
    LiveShare& sum = at->second;
    if (is_new) {
      sum.kind = one.kind;
      sum.value = one.value;
      sum.energy = Energy::missing(one.energy.source, one.energy.boundary);
    }
    add_count(sum.prompt_tokens, one.prompt_tokens);
    add_count(sum.output_tokens, one.output_tokens);
    if (has_energy)
      sum.energy = sum.energy.status == Status::kMissing ? one.energy : sum.energy + one.energy;
  }
}

LiveFigures LiveSum::figures(Seconds duration) const {
  LiveFigures whole = whole_;
  whole.duration = duration;
  if (token_energy_) {
    Energy energy = *token_energy_;
    energy.random = Joules(
        std::hypot(energy.random.value(), std::sqrt(std::max(0.0, edge_variance_)), gaps_.value()));
    if (token_outputs_ > 0) whole.output_token = energy / token_outputs_;
    const double all = token_outputs_ + token_prompts_.value_or(0);
    if (token_prompts_ && all > 0) whole.total_token = energy / all;
  }
  for (const auto& [key, share] : shares_) {
    whole.shares.push_back(share);
    LiveShare& one = whole.shares.back();
    if (one.energy.status == Status::kMissing || !(whole.energy.joules.value() > 0)) continue;
    one.share = one.energy.joules / whole.energy.joules;
  }
  std::stable_sort(whole.shares.begin(), whole.shares.end(),
                   [](const LiveShare& a, const LiveShare& b) {
                     return a.share.value_or(-1) > b.share.value_or(-1);
                   });
  return whole;
}

}  // namespace perjoule
