#include "meter/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/energy_json.h"
#include "base/text.h"
#include "meter/compare.h"

namespace perjoule {
namespace {

/// The variables of one launcher.
struct Launcher {
  const char* name;
  const char* job;        ///< must be set for the launcher to be there
  const char* other_job;  ///< taken where `job` is unset; may be null
  const char* rank;
  const char* local_rank;
  const char* size;
};

constexpr Launcher kLaunchers[] = {
    {"torchrun", "TORCHELASTIC_RUN_ID", nullptr, "RANK", "LOCAL_RANK", "WORLD_SIZE"},
    {"mpi", "OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"slurm", "SLURM_JOB_ID", nullptr, "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"},
};

struct Span {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  Energy energy;
};

/// What all ranks saw of one source of one host.
struct SourceParts {
  Json description;  ///< the source as its first rank wrote it
  std::vector<Span> spans;
};

/// Energy over the union of the spans; the parts of one sensor add linearly.
std::optional<Energy> energy_of_union(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
  });
  std::optional<Energy> sum;
  std::int64_t covered_until = spans.empty() ? 0 : spans.front().begin_ns;
  for (const Span& span : spans) {
    const std::int64_t from = std::max(span.begin_ns, covered_until);
    if (from >= span.end_ns && sum) continue;
    const double whole = static_cast<double>(span.end_ns - span.begin_ns);
    const double share = whole > 0 ? static_cast<double>(span.end_ns - from) / whole : 1;
    const Energy part = span.energy * share;
    sum = sum ? *sum + part : part;
    covered_until = std::max(covered_until, span.end_ns);
  }
  return sum;
}

class Merge {
 public:
  Outcome add(const Json& document, std::size_t index) {
    PJ_CHECK(check_run_schema(document, fmt::format("part {}", index + 1)));
    const auto begin = document.integer("begin_unix_ns");
    const auto duration = document.number("duration_s");
    const auto host = document.string("host");
    const Json* sources = document.find("sources");
    if (!begin || !duration || !host || sources == nullptr || sources->as_array() == nullptr) {
      return Error::invalid_argument(fmt::format(
          "part {}: not a run: begin_unix_ns, duration_s, host or sources is missing", index + 1));
    }
    const std::int64_t end = *begin + static_cast<std::int64_t>(*duration * 1e9);
    begin_ns_ = parts_ == 0 ? *begin : std::min(begin_ns_, *begin);
    end_ns_ = std::max(end_ns_, end);
    ++parts_;
    for (const Json& source : *sources->as_array()) {
      const auto id = source.string("id");
      const Json* energy = source.find("energy");
      if (!id || energy == nullptr)
        return Error::invalid_argument(
            fmt::format("part {}: a source without id or energy", index + 1));
      auto parsed = energy_from_json(*energy);
      if (!parsed) return fail(parsed, fmt::format("part {}: {}", index + 1, *id));
      parsed->name_sensors_of(*host);
      SourceParts& known = sources_[{*host, *id}];
      if (known.spans.empty()) known.description = source;
      known.spans.push_back({*begin, end, std::move(*parsed)});
    }
    if (const Json* unit = document.find("unit"); unit != nullptr && unit->is_object()) {
      unit_name_ = unit->string("name").value_or(unit_name_);
      const double count = unit->number("count").value_or(0);
      unit_sum_ += count;
      unit_max_ = std::max(unit_max_, count);
    }
    if (!hosts_.contains(*host)) hosts_[*host] = 0;
    ++hosts_[*host];
    return {};
  }

  Json finish(const Json& first) const {
    Json json = Json::object();
    json["schema"] = "perjoule.run.v1";
    json["name"] = "job";
    json["begin_unix_ns"] = begin_ns_;
    json["duration_s"] = static_cast<double>(end_ns_ - begin_ns_) * 1e-9;
    json["parts"] = static_cast<std::int64_t>(parts_);
    json["hosts"] = Json::object();
    for (const auto& [host, ranks] : hosts_) json["hosts"][host] = ranks;
    json["host"] =
        hosts_.size() == 1 ? hosts_.begin()->first : fmt::format("{} hosts", hosts_.size());
    if (const Json* command = first.find("command")) json["command"] = *command;
    std::optional<Energy> total;
    json["sources"] = Json::array();
    for (const auto& [key, parts] : sources_) {
      const auto energy = energy_of_union(parts.spans);
      if (!energy) continue;
      Json one = parts.description;
      one["host"] = key.first;
      one["energy"] = to_json(*energy);
      one["ranks"] = static_cast<std::int64_t>(parts.spans.size());
      json["sources"].push_back(one);
      const Json* overlaps = one.find("overlaps");
      if (overlaps != nullptr && !overlaps->is_null()) continue;
      total = total ? *total + *energy : *energy;
    }
    json["total"] = to_json(total.value_or(Energy::missing("no source")));
    if (unit_sum_ > 0) {
      json["unit"]["name"] = unit_name_;
      json["unit"]["count"] = unit_max_;
      json["unit"]["sum_over_ranks"] = unit_sum_;
    }
    return json;
  }

 private:
  std::map<std::pair<std::string, std::string>, SourceParts> sources_;  ///< by host and source id
  std::map<std::string, int> hosts_;
  std::size_t parts_ = 0;
  std::int64_t begin_ns_ = 0;
  std::int64_t end_ns_ = 0;
  std::string unit_name_;
  double unit_sum_ = 0;
  double unit_max_ = 0;
};

}  // namespace

std::optional<RankIdentity> find_rank(const VariableLookup& variable) {
  for (const Launcher& launcher : kLaunchers) {
    std::string job = variable(launcher.job);
    if (job.empty() && launcher.other_job != nullptr) job = variable(launcher.other_job);
    const auto rank = parse_integer(variable(launcher.rank));
    if (job.empty() || !rank) continue;
    RankIdentity identity;
    identity.launcher = launcher.name;
    identity.job = job;
    identity.rank = *rank;
    identity.local_rank = parse_integer(variable(launcher.local_rank)).value_or(0);
    identity.size = parse_integer(variable(launcher.size)).value_or(1);
    return identity;
  }
  return std::nullopt;
}

Json to_json(const RankIdentity& rank) {
  Json json = Json::object();
  json["launcher"] = rank.launcher;
  json["job"] = rank.job;
  json["rank"] = rank.rank;
  json["local_rank"] = rank.local_rank;
  json["size"] = rank.size;
  return json;
}

Result<Json> merge_runs(const std::vector<Json>& documents) {
  if (documents.empty()) return Error::invalid_argument("no run to merge");
  Merge merge;
  for (std::size_t i = 0; i < documents.size(); ++i) PJ_CHECK(merge.add(documents[i], i));
  return merge.finish(documents.front());
}

}  // namespace perjoule
