// Lines for the shell, run one after another beside whatever else is done, each with a time limit.
//
//   PJ_TRY(auto run, CommandLinesRun::start({"systemctl start a.service"}, Seconds(120), clock));
//   while (!(ended = run->poll())) ...            // once a while; never waits
//   if (!*ended) complain(ended->error().text());
//
// What they write goes to a file of ours that is gone afterwards, and not to a pipe: what a line
// leaves running must not end because nobody reads it any more.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/private_folder.h"
#include "base/process.h"
#include "base/result.h"

namespace perjoule {

class CommandLinesRun {
 public:
  /// Starts the first line; none is done at once. The clock must outlive it.
  static Result<std::unique_ptr<CommandLinesRun>> start(std::vector<std::string> lines,
                                                        Seconds within, const Clock& clock);
  /// Leaves what still runs to itself.
  ~CommandLinesRun() = default;

  /// None while it goes on. unavailable for a line that ends with a status, timeout for one that
  /// was ended with its session, each with the end of its output; the rest is not run then.
  std::optional<Outcome> poll();

 private:
  CommandLinesRun(std::vector<std::string> lines, Seconds within, const Clock& clock,
                  PrivateFolder folder)
      : lines_(std::move(lines)), within_(within), clock_(clock), folder_(std::move(folder)) {}
  Outcome start_next();
  std::string end_of_output() const;

  std::vector<std::string> lines_;
  Seconds within_;
  const Clock& clock_;
  PrivateFolder folder_;
  std::optional<ChildProcess> child_;
  std::size_t next_ = 0;
  Instant begun_;
};

}  // namespace perjoule
