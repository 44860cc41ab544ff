#include "cli/parser.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <list>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "base/file.h"
#include "base/text.h"
#include "cli/page.h"
#include "cli/settings.h"
#include "cli/table.h"
#include "cli/version.h"

namespace perjoule::cli {

bool Arguments::has(std::string_view option) const { return given_.find(option) != given_.end(); }

bool Arguments::typed(std::string_view option) const {
  const auto at = given_.find(option);
  return at != given_.end() && at->second;
}

std::string Arguments::value(std::string_view option) const {
  const auto at = values_.find(option);
  return at == values_.end() || at->second.empty() ? std::string() : at->second.back();
}

std::vector<std::string> Arguments::values(std::string_view name) const {
  const auto at = values_.find(name);
  return at == values_.end() ? std::vector<std::string>() : at->second;
}

Result<std::vector<std::string>> Arguments::list(std::string_view option) const {
  std::vector<std::string> words;
  for (const std::string& text : values(option)) {
    if (trim(text).empty()) continue;
    for (const std::string_view item : split(text, ',')) {
      words.emplace_back(trim(item));
      if (words.back().empty()) {
        return Error::invalid_argument(
            fmt::format("--{} {}: an item of the list is empty", option, text),
            "write a,b without a comma too many");
      }
    }
  }
  return words;
}

namespace {

/// Says that standard output took no more; none where it took everything.
std::optional<int> check_output(std::string_view who) {
  if (output_failed() == 0) return std::nullopt;
  complain(
      Error::from_errno(output_failed(), fmt::format("{}: standard output", who)).value().text());
  return kMachineCannot;
}

/// By then what the verb held has been let go, knobs have been put back, and a line can be said.
int no_memory(std::string_view who, int status) {
  complain(fmt::format("{}: out of memory; give it more, or less to do", who));
  return status;
}

}  // namespace

/// Builds the library's command tree from the verbs and reads its answers back.
class Parser {
 public:
  /// Only verbs that begin with the call's first word get their options: making those of all is
  /// most of what a start of the command would do.
  Parser(std::vector<Verb> verbs, std::string_view first_word)
      : verbs_(std::move(verbs)),
        app_("Power and energy as first-class metrics of machine learning.", "perjoule") {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", "perjoule " + version());
    for (Verb& verb : verbs_) {
      verb.options.push_back({"json", "", "print one JSON document of a stable, versioned schema"});
      if (verb.has_page)
        verb.options.push_back(
            {"html", "FILE", "write a page that shows it; it opens from disk, in any browser"});
      add(verb, split(verb.name, ' ').front() == first_word);
    }
  }

  int run(int argc, const char* const* argv) {
    // Everything after the first "--" is the child's and never ours to parse.
    std::vector<std::string> words;
    std::vector<std::string> command;
    bool ours = true;
    for (int i = 1; i < argc; ++i) {
      if (ours && std::string_view(argv[i]) == "--") {
        ours = false;
      } else {
        (ours ? words : command).emplace_back(argv[i]);
      }
    }
    if (!words.empty() && words.front().substr(0, 1) != "-" && !known(words.front())) {
      complain(fmt::format("no verb '{}' (perjoule --help lists them)", words.front()));
      return kUsage;
    }
    std::reverse(words.begin(), words.end());  // the library takes them last first
    try {
      app_.parse(words);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) {  // help was asked for
        std::ostringstream text;
        app_.exit(error, text, text);
        print(text.str());
        return check_output("perjoule").value_or(kDone);
      }
      complain(fmt::format("{} (see perjoule --help)", error.what()));
      return kUsage;
    }
    for (Entry& entry : entries_) {
      if (entry.app->parsed()) return call(entry, std::move(command));
    }
    return kUsage;
  }

 private:
  struct Entry {
    const Verb* verb;
    CLI::App* app;
    std::map<std::string, std::vector<std::string>> values;
    std::map<std::string, bool> flags;
  };

  void add(const Verb& verb, bool with_options) {
    CLI::App* parent = &app_;
    const auto words = split(verb.name, ' ');
    std::string path;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (i > 0) path += " ";
      path += words[i];
      parent = group(*parent, path, std::string(words[i]));
    }
    CLI::App* app = parent->add_subcommand(std::string(words.back()), verb.summary);
    entries_.push_back(Entry{&verb, app, {}, {}});
    if (!with_options) return;
    Entry& entry = entries_.back();
    for (const Option& option : verb.options) add(entry, option);
    for (const Positional& positional : verb.positionals) {
      auto* added =
          app->add_option(positional.name, entry.values[positional.name], positional.help);
      added->required(positional.required);
      added->expected(positional.repeatable ? -1 : 1);
      added->allow_extra_args(positional.repeatable);
    }
    app->footer(footer(verb));
  }

  bool known(std::string_view first_word) const {
    return std::any_of(verbs_.begin(), verbs_.end(), [&](const Verb& verb) {
      return split(verb.name, ' ').front() == first_word;
    });
  }

  static void add(Entry& entry, const Option& option) {
    const std::string spelled = (option.name.size() == 1 ? "-" : "--") + option.name;
    if (option.value.empty()) {
      entry.app->add_flag(spelled, entry.flags[option.name], option.help);
      return;
    }
    std::string help = option.help;
    if (!option.otherwise.empty()) help += " [" + option.otherwise + "]";
    auto* added = entry.app->add_option(spelled, entry.values[option.name], help);
    added->type_name(option.value);
    added->allow_extra_args(false);
    if (!option.repeatable) added->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }

  /// The words that verbs begin with, by all of them: "train", "train batch-size".
  CLI::App* group(CLI::App& parent, const std::string& path, const std::string& name) {
    CLI::App*& known = groups_[path];
    if (known == nullptr) {
      known = parent.add_subcommand(name, "see perjoule " + path + " --help");
      known->require_subcommand(1);
    }
    return known;
  }

  static std::string footer(const Verb& verb) {
    std::string text;
    if (!verb.description.empty()) text += verb.description + "\n\n";
    if (verb.takes_command) text += "The command to run stands after --.\n\n";
    if (!verb.examples.empty()) {
      text += "Examples:\n";
      for (const std::string& example : verb.examples) text += "  " + example + "\n";
    }
    return text;
  }

  /// The options: what the command line says, else what is set, else the default.
  static Outcome collect_options(Entry& entry, const Settings& settings, Arguments& arguments) {
    for (const Option& option : entry.verb->options) {
      const bool flag = option.value.empty();
      std::vector<std::string>& values = entry.values[option.name];
      const bool typed = flag ? entry.flags[option.name] : !values.empty();
      bool given = typed;
      if (!typed) {
        PJ_TRY(values, settings.find(*entry.verb, option));
        given = flag ? values == std::vector<std::string>{"true"} : !values.empty();
      }
      if (given) arguments.given_[option.name] = typed;
      if (flag) continue;
      if (!given && !option.otherwise.empty()) values.push_back(option.otherwise);
      arguments.values_[option.name] = values;
    }
    return {};
  }

  /// The verb's work; with --html, what it would print as JSON becomes a page.
  static Result<int> run(const Verb& verb, Arguments& arguments) {
    const std::string page = arguments.value("html");
    if (page.empty()) return verb.run(arguments);
    PJ_CHECK(check_writable(page));
    const bool wants_json = arguments.json();
    arguments.given_["json"] = true;
    Result<int> status = kDone;
    std::string printed;
    {
      const PrintedText kept;
      status = verb.run(arguments);
      printed = kept.text();
    }
    if (wants_json) print(printed);
    if (!status && printed.empty()) return status;
    PJ_TRY(const std::vector<Json> documents, documents_in(printed));
    PJ_CHECK(write_page(page, documents));
    if (!wants_json) print("page: " + page + "\n");
    return status;
  }

  int call(Entry& entry, std::vector<std::string> command) const {
    Arguments arguments;
    const Result<Settings> settings = Settings::load(verbs_);
    const Outcome collected =
        settings ? collect_options(entry, *settings, arguments) : Outcome(fail(settings));
    if (!collected) {
      complain(fmt::format("{}: {}", entry.verb->name, collected.error().text()));
      return status_of(collected.error());
    }
    for (const Positional& positional : entry.verb->positionals) {
      arguments.values_[positional.name] = entry.values[positional.name];
    }
    if (!command.empty() && !entry.verb->takes_command) {
      complain(fmt::format("{}: takes no command after --", entry.verb->name));
      return kUsage;
    }
    const std::vector<std::string>& instead = entry.verb->instead_of_command;
    const bool spared = std::any_of(instead.begin(), instead.end(), [&](const std::string& option) {
      return arguments.has(option);
    });
    if (command.empty() && entry.verb->takes_command && !spared) {
      complain(fmt::format("{}: no command given; put it after --", entry.verb->name));
      return kUsage;
    }
    arguments.command_ = std::move(command);
    Result<int> status = kDone;
    try {
      status = run(*entry.verb, arguments);
    } catch (const std::bad_alloc&) {
      return no_memory(entry.verb->name, entry.verb->own_failure);
    } catch (const std::length_error&) {  // more than any memory holds
      return no_memory(entry.verb->name, entry.verb->own_failure);
    }
    if (check_output(entry.verb->name)) return entry.verb->own_failure;
    if (status) return *status;
    complain(fmt::format("{}: {}", entry.verb->name, status.error().text()));
    return status_of(status.error());
  }

  std::vector<Verb> verbs_;
  CLI::App app_;
  std::list<Entry> entries_;
  std::map<std::string, CLI::App*> groups_;
};

std::optional<int> answer_version(int argc, const char* const* argv) {
  if (argc != 2 || std::string_view(argv[1]) != "--version") return std::nullopt;
  print("perjoule " + version() + "\n");
  return check_output("perjoule").value_or(kDone);
}

int dispatch(const std::vector<Verb>& verbs, int argc, const char* const* argv) {
  const char* const* const end = argv + std::max(argc, 1);
  const char* const* const first =
      std::find_if(argv + std::min(argc, 1), end, [](const char* word) { return word[0] != '-'; });
  try {
    return Parser(verbs, first == end ? "" : *first).run(argc, argv);
  } catch (const std::bad_alloc&) {
    return no_memory("perjoule", kMachineCannot);
  }
}

int status_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kOutOfRange:
    case ErrorCode::kNotFound:
      return kUsage;
    default:
      return kMachineCannot;
  }
}

}  // namespace perjoule::cli
