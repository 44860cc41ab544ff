// What a verb is: its words, its options and a function. The command-line library stays behind
// parser.cc, so that a verb's file is cheap to compile and reads like the manual page it becomes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace perjoule::cli {

/// Exit statuses of every verb but `run`, which passes its child's on. The table for users stands
/// in docs/exit-status.md.
constexpr int kDone = 0;
constexpr int kAnswerIsNo = 1;     ///< infeasible, budget exceeded, comparison differs
constexpr int kUsage = 2;          ///< the words given make no sense
constexpr int kMachineCannot = 3;  ///< no meter, no permission
/// Of verbs that pass their command's status on, as timeout(1) and the shell have them:
constexpr int kOwnFailure = 125;       ///< the command was not measured
constexpr int kCommandNotRun = 126;    ///< it is there and cannot be run
constexpr int kCommandNotFound = 127;  ///< it is not there
constexpr int kSignalled = 128;        ///< plus the signal's number: ended by one before its time

struct Option {
  std::string name;   ///< "every"; given as --every. One letter gives -p
  std::string value;  ///< what it takes, for the help: "TIME"; empty for a flag
  std::string help;
  std::string otherwise = {};  ///< default, shown in the help
  bool repeatable = false;     ///< may be given more than once
};

struct Positional {
  std::string name;  ///< "FILE"
  std::string help;
  bool required = true;
  bool repeatable = false;
};

/// The parsed words of one call.
class Arguments {
 public:
  bool has(std::string_view option) const;
  /// Whether it stands on this call's own command line, and not only in what is set for all calls.
  bool typed(std::string_view option) const;
  /// The option's last value, or its default; empty when it has neither.
  std::string value(std::string_view option) const;
  /// All values of a repeatable option or positional.
  std::vector<std::string> values(std::string_view name) const;
  /// The words of a repeatable option's lists "a,b", trimmed; none where it is not given, or empty.
  /// invalid_argument for an empty item: what stood there was left out by mistake, as in "zeus,".
  Result<std::vector<std::string>> list(std::string_view option) const;
  /// The words after "--".
  const std::vector<std::string>& command() const { return command_; }
  /// --json was given.
  bool json() const { return has("json"); }

  /// The option read by one of base/text.h's parsers; none when not given and without default.
  template <typename T>
  Result<std::optional<T>> read(std::string_view option,
                                Result<T> (*parse)(std::string_view)) const {
    const std::string text = value(option);
    if (text.empty()) return std::optional<T>();
    Result<T> parsed = parse(text);
    if (!parsed) return fail(parsed, "--" + std::string(option));
    return std::optional<T>(std::move(*parsed));
  }

 private:
  friend class Parser;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::map<std::string, bool, std::less<>> given_;  ///< true: on the command line
  std::vector<std::string> command_;
};

struct Verb {
  std::string name;              ///< "frontier", or "runs list" for a noun below a verb
  std::string summary;           ///< one line, for the list of verbs
  std::string description = {};  ///< paragraphs of the manual page
  std::vector<Option> options = {};
  std::vector<Positional> positionals = {};
  bool has_page = true;                              ///< --html: what it prints is worth a look
  bool takes_command = false;                        ///< words after "--" are a command
  std::vector<std::string> instead_of_command = {};  ///< options with which it may be missing
  std::vector<std::string> examples = {};            ///< whole command lines
  int own_failure = kMachineCannot;  ///< when the answer cannot be printed; `run` has its own
  /// Does the work and answers the exit status; an error is printed and turned into one by its
  /// code.
  std::function<Result<int>(const Arguments&)> run;
};

/// All verbs, in the order of the manual. Each src/cli/<verb>.cc defines one of the functions named
/// here.
std::vector<Verb> all_verbs();

}  // namespace perjoule::cli
