#include "cli/fleet_control_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "cli/toml_readers.h"
#include "cli/toml_tree.h"

namespace perjoule::cli {
namespace {

using Kind = TomlNode::Kind;

constexpr std::size_t kMostInstances = 32;  // of a server
constexpr const char* kMixed = "mixed";

/// Names become words of shell commands.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.front() != '-' && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}
bool is_gpu_word(std::string_view word) {
  return !word.empty() && word.front() != '-' && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == ':' || c == '-' || c == '/';
  });
}

class FileReader {
 public:
  explicit FileReader(std::string name) : name_(std::move(name)) {}

  Result<FleetControlFile> read(const TomlNode& root) {
    const TomlNode* fleet = root.find("fleet");
    const TomlNode* servers = root.find("server");
    if (fleet == nullptr) return missing("[fleet]", "[fleet]\npolicy = \"scale-freq\"");
    if (servers == nullptr) return missing("[[server]]", "");
    PJ_CHECK(
        read_table(root, "a fleet's file",
                   {{"fleet", [this](const TomlNode& node) { return read_fleet(node); }},
                    {"hooks", [this](const TomlNode& node) { return read_hooks(node); }},
                    {"prometheus", [this](const TomlNode& node) { return read_prometheus(node); }},
                    {"server", [this](const TomlNode& node) { return read_servers(node); }}}));
    PJ_CHECK(check_pools());
    PJ_CHECK(check_commands_there());
    make_layouts();
    return std::move(file_);
  }

 private:
  tl::unexpected<Error> missing(const std::string& what, const std::string& hint) const {
    return Error::invalid_argument(name_ + ": no " + what, hint);
  }

  Outcome read_fleet(const TomlNode& node) {
    std::string policy;
    Seconds every;
    Seconds shard_period;
    Seconds instance_period;
    double attainment = 0.95;
    double margin = 1.1;
    std::string idle;
    std::string at_end = "as-found";
    PJ_CHECK(read_table(node, "[fleet]",
                        {{"policy", text_into(policy)},
                         {"profile", texts_into(file_.profiles)},
                         {"model", text_into(file_.model)},
                         {"gpu", text_into(file_.gpu)},
                         {"attainment", number_into(attainment, 0.01, 1)},
                         {"margin", number_into(margin, 0.1, 10)},
                         {"every", time_into(every)},
                         {"shard-period", time_into(shard_period)},
                         {"instance-period", time_into(instance_period)},
                         {"start", time_into(file_.transitions.start, true)},
                         {"reshard", time_into(file_.transitions.reshard, true)},
                         {"drain", time_into(file_.transitions.drain, true)},
                         {"history",
                          [this](const TomlNode& at) -> Outcome {
                            PJ_TRY(file_.history, read_history(at));
                            return {};
                          }},
                         {"idle-gpu-power",
                          [this](const TomlNode& at) -> Outcome {
                            const auto power = parse_watts(at.word);
                            if (!at.is(Kind::kWord) || !power || !(power->value() >= 0))
                              return refuse(at, "a power from 0 W on is wanted");
                            file_.idle_gpu = *power;
                            return {};
                          }},
                         {"levels", [this](const TomlNode& at) { return read_levels(at); }},
                         {"at-end", [&at_end](const TomlNode& at) -> Outcome {
                            if (at.word != "as-found" && at.word != "leave")
                              return refuse(at, "'at-end' is as-found or leave");
                            at_end = at.word;
                            return {};
                          }}}));
    if (policy.empty()) return refuse(node, "[fleet] needs a policy");
    if (file_.profiles.empty()) return refuse(node, "[fleet] needs a profile");
    auto found = policy_named(policy);
    if (!found) return fail(found, node.place);
    file_.policy = std::move(*found);
    file_.policy.least_attainment = attainment;
    file_.policy.margin = margin;
    if (every > Seconds(0)) file_.policy.clock_period = every;
    if (shard_period > Seconds(0)) file_.policy.shard_period = shard_period;
    if (instance_period > Seconds(0)) file_.policy.instance_period = instance_period;
    file_.leaves_servers = at_end == "leave";
    return {};
  }

  /// { ttft, tbt } of all classes, or a table of them by class over DynamoLLM's.
  Outcome read_levels(const TomlNode& node) {
    if (!node.is(Kind::kTable)) return refuse(node, "'levels' is a table");
    ServiceLevels levels = dynamo_levels();
    const auto read_level = [](const TomlNode& at, ServiceLevel& level) {
      return read_table(
          at, "a level",
          {{"ttft", time_into(level.first_token)}, {"tbt", time_into(level.between_tokens)}});
    };
    if (node.find("ttft") != nullptr || node.find("tbt") != nullptr) {
      ServiceLevel level{Seconds(2), Seconds(0.1)};
      PJ_CHECK(read_level(node, level));
      levels.fill(level);
    } else {
      for (const auto& [name, level] : node.entries) {
        const auto known = class_named(name);
        if (!known) {
          return refuse(level, fmt::format("no class of requests: '{}'", name),
                        "there are SS, SM, SL, MS, MM, ML, LS, LM and LL; or ttft and tbt for all");
        }
        PJ_CHECK(read_level(level, levels[*known]));
      }
    }
    file_.levels = levels;
    return {};
  }

  Outcome read_hooks(const TomlNode& node) {
    // The owner's own commands stand over the preset's, in whichever order they are written.
    std::string preset;
    ServerCommands own;
    PJ_CHECK(read_table(node, "[hooks]",
                        {{"preset", text_into(preset)},
                         {"start", text_into(own.start)},
                         {"stop", text_into(own.stop)},
                         {"reshard", text_into(own.reshard)},
                         {"drain", text_into(own.drain)},
                         {"within", time_into(file_.command_within)},
                         {"start-within", time_into(file_.start_within)}}));
    if (!preset.empty()) {
      auto commands = commands_of_preset(preset);
      if (!commands) return fail(commands, node.place);
      file_.commands = std::move(*commands);
    }
    for (const auto& [from, to] : {std::pair{&own.start, &file_.commands.start},
                                   {&own.stop, &file_.commands.stop},
                                   {&own.reshard, &file_.commands.reshard},
                                   {&own.drain, &file_.commands.drain}}) {
      if (!from->empty()) *to = *from;
    }
    const Outcome fine = check_commands(file_.commands);
    return fine ? Outcome() : fail(fine, node.place);
  }

  Outcome read_prometheus(const TomlNode& node) {
    PJ_CHECK(read_table(node, "[prometheus]",
                        {{"url", url_into(file_.prometheus)},
                         {"selector", text_into(file_.selector)},
                         {"label", text_into(file_.label)}}));
    if (!file_.prometheus) return refuse(node, "[prometheus] needs a url");
    return {};
  }

  Outcome read_servers(const TomlNode& node) {
    if (!node.is(Kind::kList)) return refuse(node, "'server' is a list of tables: [[server]]");
    for (const TomlNode& item : node.items) PJ_CHECK(read_server(item));
    return {};
  }

  Outcome read_server(const TomlNode& node) {
    FleetServer server;
    std::vector<InstanceSource> sources;
    std::vector<std::string> gpus;
    std::vector<std::string> running;
    std::string state = "on";
    server.pool_name = kMixed;
    const TomlNode* pool = nullptr;
    PJ_CHECK(read_table(node, "[[server]]",
                        {{"name", text_into(server.name)},
                         {"gpus", texts_into(gpus)},
                         {"running", texts_into(running)},
                         {"pool",
                          [&](const TomlNode& at) {
                            pool = &at;
                            return text_into(server.pool_name)(at);
                          }},
                         {"state", text_into(state)},
                         {"instance", [](const TomlNode&) { return Outcome(); }}}));
    if (!is_plain_name(server.name))
      return refuse(node, "a server needs a name of letters, digits, '.', '_' and '-'");
    if (!names_.insert(server.name).second)
      return refuse(node, fmt::format("a second server or instance '{}'", server.name));
    if (state != "on" && state != "off") return refuse(node, "a server's state is on or off");
    server.is_on = state == "on";
    if (server.pool_name != kMixed) {
      const auto known = class_named(server.pool_name);
      if (!known)
        return refuse(*pool, fmt::format("no pool: '{}'", server.pool_name),
                      "a class of requests (SS to LL), or mixed");
      server.pool = *known;
      server.pool_name = name_of_class(*known);
    }
    const TomlNode* instances = node.find("instance");
    if (instances == nullptr || !instances->is(Kind::kList) || instances->items.empty())
      return refuse(node, "a server needs its [[server.instance]]");
    if (instances->items.size() > kMostInstances)
      return refuse(*instances, fmt::format("more than {} instances", kMostInstances));
    for (const TomlNode& item : instances->items)
      PJ_CHECK(read_instance(item, server, sources, gpus));
    PJ_CHECK(choose_division(node, server, running));
    PJ_CHECK(count_gpus(node, server, gpus));
    file_.servers.push_back(std::move(server));
    file_.sources.push_back(std::move(sources));
    return {};
  }

  Outcome read_instance(const TomlNode& node, FleetServer& server,
                        std::vector<InstanceSource>& sources,
                        const std::vector<std::string>& gpus) {
    FleetInstance one;
    int pipeline = 1;
    std::optional<HttpUrl> url;
    std::string series;
    PJ_CHECK(read_table(node, "[[server.instance]]",
                        {{"name", text_into(one.name)},
                         {"url", url_into(url)},
                         {"series", text_into(series)},
                         {"gpus", texts_into(one.gpus)},
                         {"tp", degree_into(one.tensor_parallel)},
                         {"pp", degree_into(pipeline)}}));
    if (!url) return refuse(node, "an instance needs the url of its metrics");
    if (one.name.empty()) one.name = fmt::format("{}-{}", server.name, server.instances.size());
    if (!is_plain_name(one.name))
      return refuse(node, "an instance's name is of letters, digits, '.', '_' and '-'");
    if (!names_.insert(one.name).second)
      return refuse(node, fmt::format("a second server or instance '{}'", one.name));
    for (const std::string& gpu : one.gpus) {
      if (!is_gpu_word(gpu)) return refuse(node, fmt::format("no GPU: '{}'", gpu));
      if (!gpus.empty() && std::find(gpus.begin(), gpus.end(), gpu) == gpus.end())
        return refuse(node, fmt::format("GPU {} is none of server {}", gpu, server.name));
    }
    const int wanted = one.tensor_parallel * pipeline;
    if (std::set<std::string>(one.gpus.begin(), one.gpus.end()).size() != one.gpus.size() ||
        static_cast<int>(one.gpus.size()) != wanted) {
      return refuse(node, fmt::format("instance {} needs {} of its own, has {}", one.name,
                                      counted(wanted, "GPU"), one.gpus.size()));
    }
    one.port = url->port;
    degrees_[one.name] = {one.tensor_parallel, pipeline};
    if (series.empty()) series = fmt::format("{}:{}", url->host, url->port);
    server.instances.push_back(std::move(one));
    sources.push_back({std::move(*url), std::move(series)});
    return {};
  }

  /// Those named, or the first ones that share no GPU.
  Outcome choose_division(const TomlNode& node, FleetServer& server,
                          const std::vector<std::string>& running) {
    std::set<std::string> used;
    std::size_t found = 0;
    for (std::size_t i = 0; i < server.instances.size(); ++i) {
      const FleetInstance& one = server.instances[i];
      const bool is_named = std::find(running.begin(), running.end(), one.name) != running.end();
      found += is_named;
      const bool is_free = std::none_of(one.gpus.begin(), one.gpus.end(),
                                        [&](const auto& gpu) { return used.count(gpu) > 0; });
      if (is_named && !is_free) return refuse(node, "instances that run share a GPU: " + one.name);
      if (!is_free || (!running.empty() && !is_named)) continue;
      used.insert(one.gpus.begin(), one.gpus.end());
      server.division.push_back(i);
    }
    if (found != running.size())
      return refuse(node, "'running' names an instance that the server has not got");
    return {};
  }

  Outcome count_gpus(const TomlNode& node, const FleetServer& server,
                     const std::vector<std::string>& listed) {
    std::set<std::string> gpus(listed.begin(), listed.end());
    for (const FleetInstance& one : server.instances) gpus.insert(one.gpus.begin(), one.gpus.end());
    const auto count = static_cast<int>(gpus.size());
    if (file_.gpus_per_server != 0 && file_.gpus_per_server != count) {
      return refuse(node,
                    fmt::format("server {} has {}, the ones before it {}", server.name,
                                counted(count, "GPU"), file_.gpus_per_server),
                    "servers of a fleet have equally many; control the others in a file of theirs");
    }
    file_.gpus_per_server = count;
    return {};
  }

  /// One pool of all, or pools of classes, and a policy that fits.
  Outcome check_pools() {
    const auto mixed =
        std::count_if(file_.servers.begin(), file_.servers.end(),
                      [](const FleetServer& server) { return server.pool_name == kMixed; });
    if (mixed != 0 && static_cast<std::size_t>(mixed) != file_.servers.size())
      return Error::invalid_argument(name_ + ": servers of classes beside servers that are mixed");
    if (mixed == 0 && !file_.policy.has_pools)
      return Error::invalid_argument(
          fmt::format("{}: policy {} has one pool, and servers are of classes", name_,
                      file_.policy.name),
          "leave 'pool' out");
    if (mixed != 0) {
      file_.policy.has_pools = false;
      if (!file_.levels) file_.levels.emplace().fill({Seconds(2), Seconds(0.1)});
    }
    return {};
  }

  Outcome check_commands_there() const {
    std::vector<ServerDeed> wanted;
    if (file_.policy.scales_instances) wanted = {ServerDeed::kStart, ServerDeed::kStop};
    if (file_.policy.scales_shards) wanted.push_back(ServerDeed::kReshard);
    for (const ServerDeed deed : wanted) {
      if (can(file_.commands, deed)) continue;
      return Error::invalid_argument(
          fmt::format("{}: policy {} needs a command to {} servers", name_, file_.policy.name,
                      deed == ServerDeed::kReshard ? "divide" : name_of(deed)),
          "[hooks]\npreset = \"systemd\"");
    }
    return {};
  }

  /// Layouts by rising GPUs, as EngineCapacity has its largest last.
  void make_layouts() {
    for (const auto& [name, degrees] : degrees_) {
      if (std::find(file_.degrees.begin(), file_.degrees.end(), degrees) == file_.degrees.end())
        file_.degrees.push_back(degrees);
    }
    std::sort(file_.degrees.begin(), file_.degrees.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first * a.second, a) < std::pair(b.first * b.second, b);
    });
    for (FleetServer& server : file_.servers) {
      for (FleetInstance& one : server.instances) {
        const auto at =
            std::find(file_.degrees.begin(), file_.degrees.end(), degrees_.at(one.name));
        one.layout = static_cast<std::size_t>(at - file_.degrees.begin());
      }
    }
  }

  std::string name_;
  FleetControlFile file_;
  std::set<std::string> names_;
  std::map<std::string, std::pair<int, int>> degrees_;  ///< (tp, pp) by instance
};

}  // namespace

Result<FleetControlFile> read_fleet_control(const std::string& text, const std::string& name) {
  PJ_TRY(const TomlNode root, parse_toml(text, name));
  return FileReader(name).read(root);
}

}  // namespace perjoule::cli
