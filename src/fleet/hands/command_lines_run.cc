#include "fleet/hands/command_lines_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "base/file.h"
#include "base/text.h"

namespace perjoule {
namespace {

constexpr std::size_t kLastLines = 4;
constexpr std::size_t kMostOutput = 64U << 10U;

}  // namespace

Result<std::unique_ptr<CommandLinesRun>> CommandLinesRun::start(std::vector<std::string> lines,
                                                                Seconds within,
                                                                const Clock& clock) {
  PJ_TRY(PrivateFolder folder, PrivateFolder::create("perjoule-fleet"));
  std::unique_ptr<CommandLinesRun> run(
      new CommandLinesRun(std::move(lines), within, clock, std::move(folder)));
  PJ_CHECK(run->start_next());
  return run;
}

Outcome CommandLinesRun::start_next() {
  child_.reset();
  if (next_ == lines_.size()) return {};
  SpawnOptions options;
  options.arguments = {"/bin/sh", "-c", lines_[next_++]};
  options.output_path = folder_.path() + "/output";
  // The terminal's Ctrl-C is ours: half a start is worse than one that is waited for.
  options.has_own_session = true;
  PJ_TRY(child_, ChildProcess::start(options));
  begun_ = clock_.now();
  return {};
}

std::optional<Outcome> CommandLinesRun::poll() {
  while (child_) {
    const std::string& line = lines_[next_ - 1];
    const auto end = child_->poll();
    if (!end && clock_.now() - begun_ <= within_) return std::nullopt;
    if (!end) {
      ::kill(-child_->pid(), SIGKILL);
      (void)child_->wait();
      child_.reset();
      return Outcome(Error::timeout(fmt::format("'{}' took longer than {} and was ended{}", line,
                                                to_text(within_, 3), end_of_output())));
    }
    if (end->status != 0) {
      child_.reset();
      return Outcome(Error::unavailable(
          fmt::format("'{}' ended with status {}{}", line, end->status, end_of_output())));
    }
    if (Outcome started = start_next(); !started) return started;
  }
  return Outcome();
}

/// "; the end of its output: a | b", on one line, as it becomes part of a log.
std::string CommandLinesRun::end_of_output() const {
  const auto text = read_beginning(folder_.path() + "/output", kMostOutput);
  if (!text) return "";
  std::vector<std::string_view> lines;
  for (const std::string_view line : split(*text, '\n')) {
    if (!trim(line).empty()) lines.push_back(trim(line));
  }
  if (lines.empty()) return "; it wrote nothing";
  const auto last = lines.end() - static_cast<std::ptrdiff_t>(std::min(lines.size(), kLastLines));
  return fmt::format("; the end of its output: {}", fmt::join(last, lines.end(), " | "));
}

}  // namespace perjoule
