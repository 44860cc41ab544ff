#include "cli/bench_sweep_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/toml_tree.h"
#include "meter/sweep.h"

namespace perjoule::cli {
namespace {

constexpr std::size_t kMostPoints = 10'000;
/// What the sweep itself says of a point.
constexpr const char* kOwn[] = {"output", "records", "setting", "json"};

using Axis = SweepAxis;
using Kind = TomlNode::Kind;

class FileReader {
 public:
  FileReader(const std::string& name, const Verb& run) : name_(name), run_(run) {}

  Result<BenchSweepFile> read(const TomlNode& root) {
    for (const auto& [key, node] : root.entries) {
      if (key != "run" && key != "server" && key != "sweep")
        return refuse(node, fmt::format("no table of a sweep: '{}'", key),
                      "there are [run], [server] and [[sweep]]");
    }
    PJ_CHECK(read_run(root));
    PJ_CHECK(read_server(root));
    PJ_CHECK(read_points(root));
    // Points of one server behind one another, in the file's order otherwise.
    std::vector<std::string> order;
    for (const BenchSweepPoint& point : file_.points) {
      if (std::find(order.begin(), order.end(), point.command) == order.end())
        order.push_back(point.command);
    }
    const auto rank = [&order](const BenchSweepPoint& point) {
      return std::find(order.begin(), order.end(), point.command) - order.begin();
    };
    std::stable_sort(
        file_.points.begin(), file_.points.end(),
        [&](const BenchSweepPoint& a, const BenchSweepPoint& b) { return rank(a) < rank(b); });
    return std::move(file_);
  }

 private:
  tl::unexpected<Error> refuse(const TomlNode& node, const std::string& what,
                               const std::string& hint = "") const {
    return Error::invalid_argument(node.place + ": " + what, hint);
  }

  const Option* option_of(std::string_view name) const {
    for (const Option& option : run_.options) {
      if (option.name == name) return &option;
    }
    return nullptr;
  }
  static bool is_own(std::string_view name) {
    return std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn);
  }

  /// The words of the command line for an option's value.
  Result<std::vector<std::string>> words_of(const TomlNode& node, const Option& option) const {
    std::vector<std::string> words;
    PJ_TRY(const auto values, option_words(node, option));
    for (const std::string& value : values) {
      if (option.value.empty()) {
        if (value == "true") words.push_back("--" + option.name);
      } else {
        words.push_back("--" + option.name + "=" + value);
      }
    }
    return words;
  }

  Outcome read_run(const TomlNode& root) {
    const TomlNode* node = root.find("run");
    if (node == nullptr) return {};
    if (!node->is(Kind::kTable)) return refuse(*node, "'run' is a table");
    for (const auto& [key, value] : node->entries) {
      const Option* option = option_of(key);
      if (option == nullptr || is_own(key)) {
        return refuse(value, fmt::format("no option of perjoule bench run: '{}'", key),
                      "perjoule bench run --help lists them");
      }
      PJ_TRY(const std::vector<std::string> words, words_of(value, *option));
      shared_.insert(shared_.end(), words.begin(), words.end());
    }
    return {};
  }

  Outcome read_server(const TomlNode& root) {
    const TomlNode* node = root.find("server");
    if (node == nullptr) return {};
    if (!node->is(Kind::kTable)) return refuse(*node, "'server' is a table");
    ServerPlan plan;
    bool has_ready = false;
    for (const auto& [key, value] : node->entries) {
      if (!value.is(Kind::kWord)) return refuse(value, fmt::format("'{}' is a text", key));
      if (key == "command") {
        plan.command = value.word;
      } else if (key == "ready") {
        auto url = HttpUrl::parse(value.word);
        if (!url) return refuse(value, url.error().text());
        plan.ready = std::move(*url);
        has_ready = true;
      } else if (key == "ready-within" || key == "silent-for" || key == "grace") {
        const auto time = parse_seconds(value.word);
        if (!time || !(time->value() > 0))
          return refuse(value, fmt::format("'{}' is a time above 0", key));
        if (key == "ready-within") plan.ready_within = *time;
        if (key == "silent-for") plan.silent_for = *time;
        if (key == "grace") plan.grace = *time;
      } else {
        return refuse(value, fmt::format("no key of a server: '{}'", key),
                      "there are command, ready, ready-within, silent-for and grace");
      }
    }
    if (plan.command.empty() || !has_ready)
      return refuse(*node, "a server needs its command and its ready URL");
    file_.server = std::move(plan);
    return {};
  }

  Result<Axis> read_axis(std::string_view name, const TomlNode& node) const {
    Axis axis;
    axis.name = name;
    if (!node.is(Kind::kList) || node.items.empty())
      return refuse(node, fmt::format("'{}' is a list of values", name));
    for (const TomlNode& item : node.items) {
      if (!item.is(Kind::kWord) && !item.is(Kind::kFlag))
        return refuse(item, fmt::format("'{}' lists words and numbers only", name));
      if (std::find(axis.values.begin(), axis.values.end(), item.word) != axis.values.end())
        return refuse(item, fmt::format("'{}' has {} twice", name, item.word));
      axis.values.push_back(item.word);
    }
    if (is_own(name)) return refuse(node, fmt::format("'{}' is the sweep's own to say", name));
    const bool in_command =
        file_.server && file_.server->command.find("{" + axis.name + "}") != std::string::npos;
    if (option_of(name) == nullptr && !in_command) {
      return refuse(node,
                    fmt::format("'{}' is neither an option of perjoule bench run nor in the "
                                "server's command",
                                name),
                    "a command takes it as {" + axis.name + "}");
    }
    return axis;
  }

  Outcome read_points(const TomlNode& root) {
    const TomlNode* node = root.find("sweep");
    std::vector<const TomlNode*> tables;
    if (node != nullptr && node->is(Kind::kTable)) tables.push_back(node);
    if (node != nullptr && node->is(Kind::kList)) {
      for (const TomlNode& item : node->items) {
        if (!item.is(Kind::kTable)) return refuse(item, "'sweep' is a list of tables");
        tables.push_back(&item);
      }
    }
    if (tables.empty()) {
      return Error::invalid_argument(name_ + ": no [[sweep]] says what is to vary",
                                     "[[sweep]]\nconcurrency = [8, 16, 32]");
    }
    for (const TomlNode* table : tables) {
      std::vector<Axis> axes;
      std::size_t count = 1;
      for (const auto& [key, value] : table->entries) {
        PJ_TRY(Axis axis, read_axis(key, value));
        count *= axis.values.size();
        if (count > kMostPoints)
          return refuse(value, fmt::format("more than {} points", kMostPoints));
        axes.push_back(std::move(axis));
      }
      if (axes.empty()) return refuse(*table, "a sweep without a value to vary");
      for (const Config& settings : combinations(axes)) PJ_CHECK(add_point(settings, *table));
    }
    make_shared();
    return {};
  }

  Outcome add_point(const Config& settings, const TomlNode& table) {
    const bool is_known =
        std::any_of(file_.points.begin(), file_.points.end(),
                    [&](const BenchSweepPoint& point) { return point.settings == settings; });
    if (is_known) return {};  // of two tables that overlap
    if (file_.points.size() >= kMostPoints)
      return refuse(table, fmt::format("more than {} points", kMostPoints));
    BenchSweepPoint point;
    point.settings = settings;
    point.words = shared_;
    for (const Setting one : settings.settings()) {
      const Option* option = option_of(one.name);
      if (option == nullptr) {
        point.words.push_back(fmt::format("--setting={}={}", one.name, one.value));
      } else if (!option->value.empty()) {
        point.words.push_back(fmt::format("--{}={}", one.name, one.value));
      } else if (one.value == "true") {
        point.words.push_back("--" + option->name);
      } else if (one.value != "false") {
        return refuse(table, fmt::format("{} is true or false", one.name));
      }
    }
    if (file_.server) {
      point.command = substitute({file_.server->command}, settings).front();
      PJ_CHECK(check_command(point.command, table));
    }
    file_.points.push_back(std::move(point));
    return {};
  }

  /// That no {name} is left. Braces of the shell's and of JSON are others: ${HOME}, {"a": 1}.
  Outcome check_command(const std::string& command, const TomlNode& table) const {
    for (std::size_t open = command.find('{'); open != std::string::npos;
         open = command.find('{', open + 1)) {
      if (open > 0 && command[open - 1] == '$') continue;
      const std::size_t close = command.find('}', open);
      if (close == std::string::npos) break;
      const std::string word = command.substr(open + 1, close - open - 1);
      const bool is_name = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
      });
      if (is_name)
        return refuse(table, fmt::format("the server's command has {{{}}}, which this sweep gives "
                                         "no values",
                                         word));
    }
    return {};
  }

  void make_shared() {
    Json shared = Json::object();
    Json words = Json::array();
    std::vector<std::string> sorted = shared_;
    std::sort(sorted.begin(), sorted.end());
    for (const std::string& word : sorted) words.push_back(word);
    shared["run"] = std::move(words);
    if (file_.server) shared["server"] = file_.server->command;
    file_.shared = shared.dump(2) + "\n";
  }

  const std::string& name_;
  const Verb& run_;
  std::vector<std::string> shared_;
  BenchSweepFile file_;
};

}  // namespace

Result<BenchSweepFile> read_bench_sweep(const std::string& text, const std::string& name,
                                        const Verb& run) {
  PJ_TRY(const TomlNode root, parse_toml(text, name));
  return FileReader(name, run).read(root);
}

}  // namespace perjoule::cli
