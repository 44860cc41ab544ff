#include "train/job_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <queue>
#include <unordered_map>

#include "base/csv.h"
#include "base/parallel.h"
#include "train/evaluate.h"

namespace perjoule {
namespace {

/// Adler-32: the seed Zeus gives a group.
std::uint32_t adler32(std::string_view text) {
  constexpr std::uint32_t kPrime = 65521;
  std::uint32_t a = 1;
  std::uint32_t b = 0;
  for (const char letter : text) {
    a = (a + static_cast<unsigned char>(letter)) % kPrime;
    b = (b + a) % kPrime;
  }
  return b << 16U | a;
}

struct Ending {
  double at_s;
  std::size_t order;  ///< of start: ties end in the order they began
  std::size_t job;
  JobSimulator::Trained trained;
  bool operator>(const Ending& other) const {
    return at_s != other.at_s ? at_s > other.at_s : order > other.order;
  }
};

/// One group played through.
class GroupPlay {
 public:
  GroupPlay(const JobGroup& group, const WorkloadTrace& trace, const JobCost& cost,
            PlayedPolicy played, const Random& random)
      : group_(group),
        policy_(std::move(played.policy)),
        simulator_(trace, cost, *policy_, played.search),
        paths_(random.child(0)),
        decisions_(random.child(1)) {
    default_ = default_job(trace);
    jobs_.resize(group.jobs.size());
  }

  void run(GroupTotals& totals) {
    for (std::size_t i = 0; i < group_.jobs.size(); ++i) {
      end_until(group_.jobs[i].start_s, totals);
      ++totals.jobs;
      totals.default_energy += default_.energy * group_.jobs[i].runtime_ratio;
      totals.default_time += default_.time * group_.jobs[i].runtime_ratio;
      start(i, group_.jobs[i].start_s);
    }
    end_until(std::numeric_limits<double>::infinity(), totals);
    totals.default_censored = default_.censored;
    for (const Played& job : jobs_) {
      totals.job_energy.push_back(job.energy.value());
      totals.job_time.push_back(job.time.value());
      totals.unreached += job.reached ? 0 : 1;
    }
  }

 private:
  static constexpr int kMostTries = 20;
  /// What became of a job.
  struct Played {
    Joules energy;
    Seconds time;
    int retries = 0;
    bool reached = false;
  };

  void start(std::size_t job, double at_s) {
    for (int tries = 0; tries < kMostTries; ++tries) {
      const int batch_size = policy_->next(decisions_, running_);
      auto trained = simulator_.train(batch_size, paths_);
      if (!trained) continue;
      running_.push_back(batch_size);
      const GroupedJob& spec = group_.jobs[job];
      endings_.push({at_s + spec.end_s - spec.start_s, started_++, job, *trained});
      return;
    }
  }

  void end_until(double until_s, GroupTotals& totals) {
    while (!endings_.empty() && endings_.top().at_s <= until_s) {
      const Ending ending = endings_.top();
      endings_.pop();
      running_.erase(std::find(running_.begin(), running_.end(), ending.trained.run.batch_size));
      const double ratio = group_.jobs[ending.job].runtime_ratio;
      ++totals.runs;
      totals.energy += ending.trained.run.energy * ratio;
      totals.time += ending.trained.run.time * ratio;
      Played& job = jobs_[ending.job];
      job.energy += ending.trained.run.energy * ratio;
      job.time += ending.trained.run.time * ratio;
      job.reached = ending.trained.run.reached;
      policy_->report(ending.trained.result, ending.trained.run.cost);
      if (!job.reached && ++job.retries < kMostTries) start(ending.job, ending.at_s);
    }
  }

  const JobGroup& group_;
  std::unique_ptr<BatchSizePolicy> policy_;
  JobSimulator simulator_;
  Random paths_;
  Random decisions_;
  DefaultJob default_;
  std::vector<int> running_;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings_;
  std::vector<Played> jobs_;
  std::size_t started_ = 0;
};

Result<GroupTotals> play(const JobGroup& group, const WorkloadTrace& trace,
                         const PolicyChoice& choice, std::uint64_t seed) {
  PJ_TRY(const JobCost cost, JobCost::make(choice.eta, trace.max_power));
  PJ_TRY(PlayedPolicy played, make_policy(choice, trace, cost));
  GroupTotals totals;
  GroupPlay(group, trace, cost, std::move(played), Random(seed).child(adler32(group.name)))
      .run(totals);
  return totals;
}

}  // namespace

GroupTotals& GroupTotals::operator+=(const GroupTotals& other) {
  jobs += other.jobs;
  runs += other.runs;
  energy += other.energy;
  time += other.time;
  default_energy += other.default_energy;
  default_time += other.default_time;
  unreached += other.unreached;
  default_censored = default_censored || other.default_censored;
  job_energy.insert(job_energy.end(), other.job_energy.begin(), other.job_energy.end());
  job_time.insert(job_time.end(), other.job_time.begin(), other.job_time.end());
  return *this;
}

Result<std::vector<JobGroup>> parse_job_groups(std::string_view text, const std::string& path) {
  PJ_TRY(const CsvTable table, parse_csv(text, path));
  std::size_t columns[5];
  const char* const names[5] = {"group", "start_time", "end_time", "dataset", "runtime_ratio"};
  for (int i = 0; i < 5; ++i) {
    PJ_TRY(columns[i], table.require_column(names[i]));
  }
  std::vector<JobGroup> groups;
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string name(table.cell(row, columns[0]));
    const auto [at, added] = known.emplace(name, groups.size());
    if (added) groups.push_back({name, std::string(table.cell(row, columns[3])), {}});
    JobGroup& group = groups[at->second];
    GroupedJob job;
    PJ_TRY(job.start_s, table.number(row, columns[1]));
    PJ_TRY(job.end_s, table.number(row, columns[2]));
    PJ_TRY(job.runtime_ratio, table.number(row, columns[4]));
    const auto wrong = [&](const std::string& what) {
      return Error::invalid_argument(fmt::format("{}: line {}: {}", path, table.line(row), what));
    };
    if (job.end_s < job.start_s) return wrong("the job ends before it starts");
    if (!(job.runtime_ratio > 0)) return wrong("the run time ratio is not above 0");
    if (table.cell(row, columns[3]) != group.dataset)
      return wrong("group " + name + " has two data sets");
    group.jobs.push_back(job);
  }
  if (groups.empty()) return Error::invalid_argument(path + ": no job in it");
  for (JobGroup& group : groups) {
    std::stable_sort(
        group.jobs.begin(), group.jobs.end(),
        [](const GroupedJob& a, const GroupedJob& b) { return a.start_s < b.start_s; });
  }
  return groups;
}

Result<std::map<std::string, GroupTotals>> simulate_groups(
    const std::vector<JobGroup>& groups, const std::vector<WorkloadTrace>& traces,
    const PolicyChoice& choice, std::uint64_t seed,
    const std::function<void(std::size_t done)>& progress) {
  std::unordered_map<std::string, const WorkloadTrace*> by_dataset;
  for (const WorkloadTrace& trace : traces) by_dataset[trace.workload.dataset] = &trace;
  for (const JobGroup& group : groups) {
    if (by_dataset.count(group.dataset) == 0)
      return Error::not_found(
          fmt::format("group {}: no workload trains on '{}'", group.name, group.dataset));
    if (!may_reach(*by_dataset.at(group.dataset)))
      return Error::unavailable(fmt::format(
          "group {}: no recorded training on '{}' reaches the target", group.name, group.dataset));
  }
  std::vector<Result<GroupTotals>> results(groups.size(), GroupTotals());
  std::size_t done = 0;
  std::mutex mutex;  // guards done and the calls of progress
  in_parallel(groups.size(), [&](std::size_t i) {
    results[i] = play(groups[i], *by_dataset.at(groups[i].dataset), choice, seed);
    const std::scoped_lock lock(mutex);
    ++done;
    if (progress) progress(done);
  });
  // Summed in the order of the groups, so that the sum is the same whoever played which.
  std::map<std::string, GroupTotals> totals;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!results[i]) return fail(results[i]);
    totals[groups[i].dataset] += *results[i];
  }
  return totals;
}

}  // namespace perjoule
