#include "serving/window/stationary_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>

#include "math/stationary.h"
#include "math/statistic.h"

namespace perjoule {
namespace {

constexpr std::size_t kMostBatches = 64;
constexpr std::size_t kFewestBatches = 16;  ///< below it the test says nothing
constexpr double kTolerated = 0.02;         ///< between the means of a course's quarters

struct Course {
  std::string_view name;
  std::vector<double> means;  ///< one a batch

  std::span<const double> between(std::size_t begin, std::size_t end) const {
    return std::span(means).subspan(begin, end - begin);
  }
};

/// The run in batches.
struct Grid {
  Instant from;
  Instant until;
  std::size_t batches = 0;

  Seconds batch() const { return (until - from) / static_cast<double>(batches); }
  Instant edge(std::size_t i) const {
    return from + (until - from) * (static_cast<double>(i) / static_cast<double>(batches));
  }
  std::size_t batch_of(Instant at) const {
    const double share = (at - from) / (until - from);
    return std::min(batches - 1,
                    static_cast<std::size_t>(std::max(0.0, share * static_cast<double>(batches))));
  }
};

/// Requests between two of their instants, on average over each batch.
template <typename From, typename Until>
Course requests_between(std::string_view name, const std::vector<RequestRecord>& records,
                        const Grid& grid, From from, Until until) {
  Course course{name, std::vector<double>(grid.batches)};
  for (const RequestRecord& record : records) {
    const Instant first = from(record);
    const Instant last = until(record);
    for (std::size_t i = grid.batch_of(first); i <= grid.batch_of(last); ++i) {
      const Instant begin = std::max(first, grid.edge(i));
      const Instant end = std::min(last, grid.edge(i + 1));
      if (begin < end) course.means[i] += (end - begin) / grid.batch();
    }
  }
  return course;
}

Instant sent(const RequestRecord& record) { return record.sent; }
Instant ended(const RequestRecord& record) { return record.ended; }
Instant first_token(const RequestRecord& record) {
  return record.response.first_token.value_or(record.ended);
}

Course token_rate(const std::vector<RequestRecord>& records, const Grid& grid) {
  Course course{"token rate", std::vector<double>(grid.batches)};
  for (const RequestRecord& record : records) {
    for (const Chunk& chunk : record.response.chunks) {
      if (chunk.at <= grid.from || chunk.at > grid.until) continue;
      course.means[grid.batch_of(chunk.at)] +=
          static_cast<double>(chunk.tokens) / grid.batch().value();
    }
  }
  return course;
}

/// In one pass over the samples, which reach over the grid.
Course mean_power(const std::vector<PowerReading>& power, const Grid& grid) {
  Course course{"power", std::vector<double>(grid.batches)};
  for (std::size_t s = 1; s < power.size(); ++s) {
    const PowerReading& a = power[s - 1];
    const PowerReading& b = power[s];
    if (b.at <= grid.from || a.at >= grid.until || a.at == b.at) continue;
    const auto at = [&a, &b](Instant when) {
      return a.power + (b.power - a.power) * ((when - a.at) / (b.at - a.at));
    };
    for (std::size_t i = grid.batch_of(a.at); i <= grid.batch_of(b.at); ++i) {
      const Instant begin = std::max(a.at, grid.edge(i));
      const Instant end = std::min(b.at, grid.edge(i + 1));
      if (begin >= end) continue;
      course.means[i] += ((at(begin) + at(end)) / 2 * (end - begin) / grid.batch()).value();
    }
  }
  return course;
}

/// Takes warm-up and drain off; each may show only once the other is gone, hence the rounds.
void trim(const std::vector<Course>& courses, std::size_t& begin, std::size_t& end) {
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    std::size_t front = 0;
    for (const Course& course : courses)
      front = std::max(front, warm_up_length(course.between(begin, end)));
    begin += front;
    std::size_t back = 0;
    for (const Course& course : courses) {
      const auto part = course.between(begin, end);
      const std::vector<double> backwards(part.rbegin(), part.rend());
      back = std::max(back, warm_up_length(backwards));
    }
    end -= back;
    if (front + back == 0) return;
  }
}

/// Whether the means of its quarters lie so close together that it does not matter.
bool hardly_moves(std::span<const double> means) {
  constexpr std::size_t kQuarters = 4;
  double least = 0;
  double most = 0;
  for (std::size_t q = 0; q < kQuarters; ++q) {
    const std::size_t begin = means.size() * q / kQuarters;
    const std::size_t end = means.size() * (q + 1) / kQuarters;
    double mean = 0;
    for (std::size_t i = begin; i < end; ++i) mean += means[i] / static_cast<double>(end - begin);
    least = q == 0 ? mean : std::min(least, mean);
    most = q == 0 ? mean : std::max(most, mean);
  }
  return most - least <= kTolerated * most;
}

bool keeps_its_level(std::span<const double> means) {
  return hardly_moves(means) || kpss_statistic(means) <= kKpssLimit;
}

/// The first of the courses that does not keep its level there, if any.
const Course* moving_course(const std::vector<Course>& courses, std::size_t begin,
                            std::size_t end) {
  for (const Course& course : courses) {
    if (!keeps_its_level(course.between(begin, end))) return &course;
  }
  return nullptr;
}

struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};
std::optional<Stretch> longest_level(const std::vector<Course>& courses, std::size_t begin,
                                     std::size_t end) {
  for (std::size_t length = end - begin; length >= kFewestBatches; --length) {
    for (std::size_t at = begin; at + length <= end; ++at) {
      if (moving_course(courses, at, at + length) == nullptr) return Stretch{at, at + length};
    }
  }
  return std::nullopt;
}

/// The last instant of a token that is not after `edge`, else `edge` itself.
Instant token_before(const std::vector<RequestRecord>& records, Instant edge, Instant earliest) {
  std::optional<Instant> last;
  for (const RequestRecord& record : records) {
    for (const Chunk& chunk : record.response.chunks) {
      if (chunk.tokens > 0 && chunk.at <= edge && chunk.at >= earliest &&
          (!last || chunk.at > *last))
        last = chunk.at;
    }
  }
  return last.value_or(edge);
}

/// Where it can be stationary at all: from a typical request's running time behind the first token
/// of all, until the last request gets its first.
Result<Grid> grid_of(const std::vector<RequestRecord>& records,
                     const std::vector<PowerReading>& power) {
  std::vector<double> durations;
  std::optional<Instant> first;
  Instant last;
  for (const RequestRecord& record : records) {
    if (!record.response.first_token) continue;
    const Instant begin = *record.response.first_token;
    durations.push_back((record.ended - begin).value());
    last = first ? std::max(last, begin) : begin;
    first = first ? std::min(*first, begin) : begin;
  }
  if (!first)
    return Error::unavailable("no request had a first token: nothing to find a window in");
  Grid grid{*first + Seconds(median(durations)), last, kMostBatches};
  if (grid.until <= grid.from) {
    return Error::unavailable(
        fmt::format(
            "no stretch of the run can be stationary: the last of {} requests had its first "
            "token before one would have run from beginning to end",
            records.size()),
        "send more requests, over a longer time");
  }
  if (power.empty()) return grid;
  if (power.front().at > grid.from || power.back().at < grid.until) {
    return Error::data_loss("the samples of power do not reach over the run",
                            "begin to sample before the load and end after it");
  }
  const auto inside = static_cast<std::size_t>(
      std::count_if(power.begin(), power.end(), [&grid](const PowerReading& sample) {
        return sample.at >= grid.from && sample.at <= grid.until;
      }));
  // Two samples a batch, else its mean is mostly the line between its neighbours.
  grid.batches = std::min(kMostBatches, inside / 2);
  if (grid.batches < kFewestBatches) {
    return Error::invalid_argument(
        fmt::format(
            "too few samples of power to tell whether the run is stationary: {} in {:.1f} s, "
            "where {} are wanted",
            inside, (grid.until - grid.from).value(), 2 * kFewestBatches),
        "run longer or sample more often");
  }
  return grid;
}

}  // namespace

Result<StationaryWindow> stationary_window(const std::vector<RequestRecord>& records,
                                           const std::vector<PowerReading>& power) {
  PJ_TRY(const Grid grid, grid_of(records, power));
  std::vector<Course> courses{
      requests_between("running requests", records, grid, first_token, ended),
      token_rate(records, grid)};
  if (!power.empty()) courses.push_back(mean_power(power, grid));

  std::size_t begin = 0;
  std::size_t end = grid.batches;
  trim(courses, begin, end);
  const auto found = longest_level(courses, begin, end);
  if (!found) {
    // Said of all of it: a course that climbs all the time looks like one long warm-up.
    const Course* moving = moving_course(courses, 0, grid.batches);
    const std::string why =
        moving == nullptr ? std::string("warm-up and drain leave too little between them")
                          : fmt::format("the course of {} changes its level (KPSS {:.2f} > {})",
                                        moving->name, kpss_statistic(moving->means), kKpssLimit);
    return Error::unavailable(
        fmt::format("no stretch of the run is stationary: {} in the {:.1f} s between the first and "
                    "the last requests",
                    why, (grid.until - grid.from).value()),
        "run longer, and hold the load");
  }
  StationaryWindow result;
  result.batch = grid.batch();
  result.batches = grid.batches;
  result.begin = found->begin;
  result.end = found->end;
  result.window.rule = WindowRule::kStationary;
  result.window.from = token_before(records, grid.edge(found->begin), grid.from);
  result.window.until = token_before(records, grid.edge(found->end), result.window.from);
  const std::int64_t tokens = window_totals(records, result.window).output_tokens;
  if (!(result.window.from < result.window.until) ||
      tokens < static_cast<std::int64_t>(kFewestBatches)) {
    return Error::unavailable(
        fmt::format("the stationary stretch holds {} output tokens, which tell nothing", tokens),
        "send more requests, over a longer time");
  }
  for (std::size_t c = 0; c < courses.size(); ++c)
    result.kpss[c] = kpss_statistic(courses[c].between(found->begin, found->end));
  const Course waiting = requests_between("waiting requests", records, grid, sent, first_token);
  result.queue_is_level = keeps_its_level(waiting.between(found->begin, found->end));
  if (!result.queue_is_level) {
    result.window.warning = fmt::format(
        "the queue is not level ({:.1f} requests wait at its beginning, {:.1f} at its end): "
        "energies are of a steady state, times to first token and end to end are not",
        waiting.means[found->begin], waiting.means[found->end - 1]);
  }
  return result;
}

}  // namespace perjoule
