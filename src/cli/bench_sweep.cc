// perjoule bench sweep: a server under many settings, and the one to take.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/energy_text.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "cli/bench_sweep_file.h"
#include "cli/leaderboard_view.h"
#include "cli/stop_on_signal.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "serving/bench/sweep_folder.h"
#include "workload/bench_files.h"

namespace perjoule::cli {
namespace {

struct Failed {
  Config settings;
  std::string why;
};

class SweepRun {
 public:
  SweepRun(const BenchSweepFile& file, const SweepFolder& folder, const StopOnSignal& signals)
      : file_(file), folder_(folder), signals_(signals) {}

  /// Measures what is not done; points that fail are told and left for the next time.
  Outcome run() {
    PJ_TRY(const bool left_over, end_left_over(state_file(), clock_, grace()));
    if (left_over) complain("ended the server that an interrupted sweep had left");
    std::size_t number = 0;
    for (const BenchSweepPoint& point : file_.points) {
      ++number;
      if (folder_.is_done(point.settings)) continue;
      if (signals_.signal() != 0) break;
      complain(
          fmt::format("point {} of {}: {}", number, file_.points.size(), point.settings.text()));
      const Outcome measured = measure(point);
      // Of a signal, what was at work is not lost but not done: the next time takes it up.
      if (signals_.signal() != 0) break;
      if (measured) {
        ++measured_;
      } else {
        complain("  failed: " + measured.error().text());
        failed_.push_back({point.settings, measured.error().text()});
      }
      PJ_CHECK(folder_.write_index(settings()));
    }
    if (server_) PJ_CHECK(server_->end());
    return folder_.write_index(settings());
  }

  std::size_t measured() const { return measured_; }
  const std::vector<Failed>& failed() const { return failed_; }
  std::vector<Config> settings() const {
    std::vector<Config> all;
    for (const BenchSweepPoint& point : file_.points) all.push_back(point.settings);
    return all;
  }

 private:
  std::string state_file() const { return folder_.path() + "/server.json"; }
  Seconds grace() const { return file_.server ? file_.server->grace : Seconds(30); }

  Outcome measure(const BenchSweepPoint& point) {
    PJ_CHECK(have_server(point.command));
    SpawnOptions options;
    options.arguments = {"/proc/self/exe", "bench", "run"};
    options.arguments.insert(options.arguments.end(), point.words.begin(), point.words.end());
    options.arguments.push_back("--output=" + folder_.part_of(point.settings));
    ::unlink(folder_.part_of(point.settings).c_str());
    options.output_path = folder_.log_of(point.settings);
    // Its own log is of this time only.
    ::unlink(options.output_path.c_str());
    options.has_own_session = true;
    options.ends_with_us = true;
    PJ_TRY(ChildProcess child, ChildProcess::start(options));
    const std::optional<ExitState> end = wait_for(child);
    if (!end) return Error::unavailable("interrupted");
    // A void result is one, which says why; one that was interrupted is none.
    const bool is_answer = end->status == kDone || end->status == kAnswerIsNo;
    if (is_answer && path_exists(folder_.part_of(point.settings)))
      return folder_.keep(point.settings);
    return Error::unavailable(fmt::format("perjoule bench run ended with status {}: {}",
                                          end->status, last_words(options.output_path)));
  }

  /// The child's end; none where a signal to us ended it.
  std::optional<ExitState> wait_for(ChildProcess& child) {
    bool asked = false;
    for (;;) {
      pollfd watched{child.pidfd(), POLLIN, 0};
      ::poll(&watched, 1, 100);
      if (const auto end = child.poll()) return asked ? std::nullopt : end;
      if (signals_.signal() != 0 && !asked) {
        // Not to be asked: it would keep what it has so far as the point's result.
        child.send_signal(SIGKILL);
        asked = true;
      }
    }
  }

  static std::string last_words(const std::string& log) {
    const auto text = read_file(log);
    if (!text) return "no log";
    const std::string_view words = trim(*text);
    const std::size_t line = words.rfind('\n');
    return std::string(line == std::string_view::npos ? words : words.substr(line + 1));
  }

  Outcome have_server(const std::string& command) {
    if (command.empty()) return {};
    if (server_ && command == command_ && !server_->has_ended()) return {};
    if (server_) {
      PJ_CHECK(server_->end());
      server_.reset();
    }
    if (command == failed_command_)
      return Error::unavailable("its server does not start, as was told before");
    ServerPlan plan = *file_.server;
    plan.command = command;
    plan.log = fmt::format("{}/logs/server-{}.log", folder_.path(), ++servers_);
    ::unlink(plan.log.c_str());
    plan.state = state_file();
    complain("starting " + command);
    auto started = ServerProcess::start(plan, clock_, signals_.token());
    if (!started) {
      failed_command_ = command;
      return fail(started);
    }
    server_ = std::move(*started);
    command_ = command;
    return {};
  }

  const BenchSweepFile& file_;
  const SweepFolder& folder_;
  const StopOnSignal& signals_;
  RealClock clock_;
  std::unique_ptr<ServerProcess> server_;
  std::string command_;
  std::string failed_command_;
  std::size_t servers_ = 0;
  std::size_t measured_ = 0;
  std::vector<Failed> failed_;
};

struct ChoiceWords {
  EnergyPer per = EnergyPer::kUnit;
  std::optional<LatencyMetric> metric;
  std::optional<Seconds> deadline;
  std::optional<double> goodput;
};

Result<ChoiceWords> read_choice(const Arguments& arguments) {
  ChoiceWords words;
  const std::string by = arguments.value("by");
  if (by != "token" && by != "response")
    return Error::invalid_argument("--by " + by + ": token or response is wanted");
  words.per = by == "response" ? EnergyPer::kResponse : EnergyPer::kUnit;
  if (arguments.has("metric")) {
    auto metric = parse_latency_metric(arguments.value("metric"));
    if (!metric) return fail(metric, "--metric");
    words.metric = *metric;
  }
  PJ_TRY(words.deadline, arguments.read<Seconds>("deadline", parse_seconds));
  if (words.deadline && !(words.deadline->value() > 0))
    return Error::invalid_argument("--deadline " + arguments.value("deadline") + ": not above 0");
  if (arguments.has("goodput")) {
    const auto share = parse_share(arguments.value("goodput"));
    if (!share || !(*share >= 0) || *share > 1)
      return Error::invalid_argument("--goodput " + arguments.value("goodput") + ": not a share",
                                     "95% or 0.95, of requests within the file's --limit");
    words.goodput = *share;
  }
  return words;
}

/// The frontier of what is there, and the point to take.
class SweepAnswer {
 public:
  SweepAnswer(const SweepRun& run, const SweepFolder& folder, const ChoiceWords& words)
      : run_(run), words_(words) {
    for (const Config& settings : run.settings()) {
      if (!folder.is_done(settings)) continue;
      auto read = read_bench_files({folder.file_of(settings)}, {});
      if (!read || read->results.size() != 1) {
        unreadable_.push_back(
            {settings, (read ? std::string("no single result") : read.error().text()) +
                           "; without its file it is measured again"});
        continue;
      }
      results_.push_back(std::move(read->results.front()));
      settings_.push_back(settings);
    }
  }

  Result<int> give(const Arguments& arguments) const {
    BoardGroup group{"Perjoule bench", "sweep", BenchKind::kText, {}};
    std::vector<Failed> left_out;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const std::string why = reason_against(results_[i]);
      if (why.empty()) {
        group.rows.push_back(i);
      } else {
        left_out.push_back({settings_[i], why});
      }
    }
    if (!results_.empty()) {
      group.task = results_.front().task;
      group.kind = results_.front().kind;
    }
    Json document = Json::object();
    document["schema"] = "perjoule.bench-sweep-answer.v1";
    document["points"] = static_cast<std::int64_t>(run_.settings().size());
    document["measured_now"] = static_cast<std::int64_t>(run_.measured());
    document["there"] = static_cast<std::int64_t>(results_.size());
    document["left_out"] = list_of({&left_out});
    document["failed"] = list_of({&run_.failed(), &unreadable_});
    std::string text =
        fmt::format("{}: {} measured now, {} there, {} failed, {} left out\n\n",
                    counted(static_cast<double>(run_.settings().size()), "point"), run_.measured(),
                    results_.size(), run_.failed().size() + unreadable_.size(), left_out.size());
    for (const auto* list : {&run_.failed(), &unreadable_}) {
      for (const Failed& one : *list)
        text += "failed: " + one.settings.text() + ": " + one.why + "\n";
    }
    for (const Failed& one : left_out)
      text += "left out: " + one.settings.text() + ": " + one.why + "\n";
    if (!left_out.empty()) text += "\n";
    bool is_answered = false;
    if (!group.rows.empty()) {
      LeaderboardView view{results_};
      view.per = words_.per;
      view.all = true;
      view.plot = output_is_terminal() && !arguments.json();
      const LatencyMetric metric = words_.metric.value_or(default_metric(results_, group));
      const Seconds deadline = words_.deadline.value_or(default_deadline(group.kind));
      PJ_TRY(const ModelChoice made,
             choose_for_model(results_, group.rows, words_.per, metric, deadline, std::nullopt));
      const FrontierOfModel shown{group, metric, made};
      document["frontier"] = model_json(view, shown);
      text += model_text(view, shown);
      is_answered = !made.choice.miss;
    } else {
      text += "no point is there that has not failed, is not void and keeps the goodput\n";
    }
    print(arguments.json() ? document.dump(2) + "\n" : text);
    return is_answered && run_.failed().empty() && unreadable_.empty() ? kDone : kAnswerIsNo;
  }

 private:
  /// Empty where there is none.
  std::string reason_against(const BenchResult& result) const {
    if (!result.validity.empty()) return "void: " + result.validity.front();
    if (!words_.goodput) return "";
    if (!result.goodput.share) return "no goodput: the file's [run] has no limit";
    if (*result.goodput.share >= *words_.goodput) return "";
    return fmt::format("{} of its requests kept the limits", percent(*result.goodput.share, 1));
  }

  static Json list_of(const std::vector<const std::vector<Failed>*>& lists) {
    Json all = Json::array();
    for (const auto* list : lists) {
      for (const Failed& one : *list) {
        Json entry = Json::object();
        entry["point"] = one.settings.text();
        entry["why"] = one.why;
        all.push_back(std::move(entry));
      }
    }
    return all;
  }

  const SweepRun& run_;
  const ChoiceWords& words_;
  std::vector<BenchResult> results_;
  std::vector<Config> settings_;  ///< of each
  std::vector<Failed> unreadable_;
};

std::string plan_text(const BenchSweepFile& file) {
  std::string text;
  std::string command;
  for (const BenchSweepPoint& point : file.points) {
    if (point.command != command) text += point.command + "\n";
    command = point.command;
    text += (command.empty() ? "" : "  ") + std::string("perjoule bench run");
    for (const std::string& word : point.words) text += " " + word;
    text += "\n";
  }
  return text;
}

/// Takes away the files of points whose result is void.
Outcome drop_void(const BenchSweepFile& file, const SweepFolder& folder) {
  for (const BenchSweepPoint& point : file.points) {
    if (!folder.is_done(point.settings)) continue;
    const std::string path = folder.file_of(point.settings);
    const auto read = read_bench_files({path}, {});
    const bool is_void = read && read->results.size() == 1 && !read->results[0].validity.empty();
    if (is_void && ::unlink(path.c_str()) != 0) return Error::from_errno(errno, path);
  }
  return {};
}

Result<int> sweep(const Arguments& arguments) {
  PJ_TRY(const ChoiceWords words, read_choice(arguments));
  const std::string path = arguments.value("FILE");
  auto text = read_file(path);
  if (!text) return fail(text);
  PJ_TRY(const BenchSweepFile file, read_bench_sweep(*text, path, bench_run_verb()));
  if (arguments.has("dry-run")) {
    print(plan_text(file));
    return kDone;
  }
  if (!arguments.has("output"))
    return Error::invalid_argument("no folder for the results", "--output FOLDER");
  PJ_TRY(const SweepFolder folder, SweepFolder::open(arguments.value("output")));
  PJ_CHECK(folder.agree_on(file.shared));
  PJ_TRY(const auto signals, StopOnSignal::start());
  if (arguments.has("redo-void")) PJ_CHECK(drop_void(file, folder));
  SweepRun run(file, folder, *signals);
  PJ_CHECK(run.run());
  if (signals->signal() != 0) {
    complain("interrupted; the same command goes on where it stopped");
    return kSignalled + signals->signal();
  }
  return SweepAnswer(run, folder, words).give(arguments);
}

}  // namespace

Verb bench_sweep_verb() {
  Verb verb;
  verb.name = "bench sweep";
  verb.summary = "a server under many settings: its time-energy frontier and the point to take";
  verb.description =
      "Measures every combination of a TOML file's values with perjoule bench run, starts the "
      "server anew where its command changes, and names the settings of least energy within the "
      "deadline, with what they save against those of least latency, per token and per response. "
      "docs/bench.md describes the file. Of each point there is one file in FOLDER/points, and "
      "FOLDER/index.json lists them. An interrupted sweep, be it by kill -9, goes on where it "
      "stopped: what is there is not measured again. Exit status 1 where a point failed or nothing "
      "meets the deadline.";
  verb.options = {
      {"output", "FOLDER", "where the results are kept, and looked for"},
      {"by", "UNIT", "energy per token or response", "token"},
      {"metric", "LATENCY",
       "median-itl, p95-ttft, mean-tpot, p99-e2el, ...: what the deadline is about"},
      {"deadline", "TIME", "of that latency"},
      {"goodput", "SHARE", "only points with so many requests within their limits (--limit)"},
      {"redo-void", "", "measure points anew whose result is void"},
      {"dry-run", "", "only say what would be run"},
  };
  verb.positionals = {{"FILE", "the sweep, TOML"}};
  verb.examples = {
      "perjoule bench sweep sweep.toml --output results --metric p90-itl "
      "--deadline 50ms",
      "perjoule bench sweep sweep.toml --dry-run"};
  verb.run = sweep;
  return verb;
}

}  // namespace perjoule::cli
