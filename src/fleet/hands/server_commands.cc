#include "fleet/hands/server_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

namespace perjoule {
namespace {

constexpr std::array<std::string_view, 3> kOfServer = {"server", "pool", "division"};
constexpr std::array<std::string_view, 4> kOfInstance = {"instance", "gpus", "tp", "port"};

bool is_one_of(const auto& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_name(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || c == '-' || c == '_';
  });
}

/// The text with each {name} replaced by what `value` answers, and left where that is none.
std::string replaced(std::string_view text,
                     const std::function<std::optional<std::string>(std::string_view)>& value) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t close = text[at] == '{' ? text.find('}', at) : std::string_view::npos;
    const bool is_shells = at > 0 && text[at - 1] == '$';
    if (close != std::string_view::npos && !is_shells) {
      const std::string_view name = text.substr(at + 1, close - at - 1);
      const auto word = is_name(name) ? value(name) : std::nullopt;
      if (word) {
        out += *word;
        at = close + 1;
        continue;
      }
    }
    out += text[at++];
  }
  return out;
}

bool is_of_instance(std::string_view command) {
  bool found = false;
  replaced(command, [&](std::string_view name) -> std::optional<std::string> {
    found = found || is_one_of(kOfInstance, name);
    return std::nullopt;
  });
  return found;
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ","));
}

std::string filled(std::string_view command, const FleetServer& server, const Division& wanted,
                   const FleetInstance* instance) {
  return replaced(command, [&](std::string_view name) -> std::optional<std::string> {
    if (name == "server") return server.name;
    if (name == "pool") return server.pool_name;
    if (name == "division") {
      std::vector<std::string> degrees;
      for (const std::size_t i : wanted)
        degrees.push_back(std::to_string(server.instances[i].tensor_parallel));
      return joined(degrees);
    }
    if (instance == nullptr) return std::nullopt;
    if (name == "instance") return instance->name;
    if (name == "gpus") return joined(instance->gpus);
    if (name == "tp") return std::to_string(instance->tensor_parallel);
    if (name == "port") return std::to_string(instance->port);
    return std::nullopt;
  });
}

void add_lines(std::string_view command, const FleetServer& server, const Division& of,
               const Division& wanted, std::vector<std::string>& lines) {
  if (command.empty()) return;
  if (!is_of_instance(command)) {
    lines.push_back(filled(command, server, wanted, nullptr));
    return;
  }
  for (const std::size_t i : of)
    lines.push_back(filled(command, server, wanted, &server.instances[i]));
}

Division without(const Division& some, const Division& others) {
  Division left = some;
  std::erase_if(left, [&](std::size_t i) {
    return std::find(others.begin(), others.end(), i) != others.end();
  });
  return left;
}

}  // namespace

std::string_view name_of(ServerDeed deed) {
  switch (deed) {
    case ServerDeed::kStart:
      return "start";
    case ServerDeed::kDrain:
      return "drain";
    case ServerDeed::kStop:
      return "stop";
    case ServerDeed::kReshard:
      return "reshard";
  }
  return "";
}

Result<ServerCommands> commands_of_preset(std::string_view name) {
  ServerCommands commands;
  if (name == "systemd") {
    commands.start = "systemctl start {instance}.service";
    commands.stop = "systemctl stop {instance}.service";
    return commands;
  }
  if (name == "slurm") {
    commands.start =
        "sbatch --job-name={instance} --nodelist={server} --gpus-per-node={tp} "
        "--export=ALL,INSTANCE={instance},PORT={port},TP={tp} {instance}.sbatch";
    commands.stop = "scancel --name={instance}";
    return commands;
  }
  if (name == "kubernetes") {
    commands.start = "kubectl scale deployment/{instance} --replicas=1";
    commands.stop = "kubectl scale deployment/{instance} --replicas=0";
    return commands;
  }
  return Error::not_found(fmt::format("no such preset: {}", name),
                          "there are systemd, slurm and kubernetes");
}

Outcome check_commands(const ServerCommands& commands) {
  for (const std::string* command :
       {&commands.start, &commands.stop, &commands.reshard, &commands.drain}) {
    std::string unknown;
    replaced(*command, [&](std::string_view name) -> std::optional<std::string> {
      if (!is_one_of(kOfServer, name) && !is_one_of(kOfInstance, name)) unknown = name;
      return std::nullopt;
    });
    if (unknown.empty()) continue;
    return Error::invalid_argument(
        fmt::format("no placeholder: {{{}}} in '{}'", unknown, *command),
        "there are {server}, {pool}, {division}, {instance}, {gpus}, {tp} and {port}");
  }
  return {};
}

bool can(const ServerCommands& commands, ServerDeed deed) {
  switch (deed) {
    case ServerDeed::kStart:
      return !commands.start.empty();
    case ServerDeed::kDrain:
      return !commands.drain.empty();
    case ServerDeed::kStop:
      return !commands.stop.empty();
    case ServerDeed::kReshard:
      return !commands.reshard.empty() || (!commands.start.empty() && !commands.stop.empty());
  }
  return false;
}

std::vector<std::string> commands_for(const ServerCommands& commands, ServerDeed deed,
                                      const FleetServer& server, const Division& running,
                                      const Division& wanted) {
  std::vector<std::string> lines;
  switch (deed) {
    case ServerDeed::kStart:
      add_lines(commands.start, server, wanted, wanted, lines);
      break;
    case ServerDeed::kDrain:
      add_lines(commands.drain, server, running, wanted, lines);
      break;
    case ServerDeed::kStop:
      add_lines(commands.stop, server, running, running, lines);
      break;
    case ServerDeed::kReshard:
      if (!commands.reshard.empty()) {
        add_lines(commands.reshard, server, wanted, wanted, lines);
        break;
      }
      // What runs before and after goes on.
      add_lines(commands.stop, server, without(running, wanted), wanted, lines);
      add_lines(commands.start, server, without(wanted, running), wanted, lines);
      break;
  }
  return lines;
}

}  // namespace perjoule
