// perjoule top: who draws what, live.
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "base/text.h"
#include "cli/machine.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "device/selection.h"
#include "meter/power_json.h"
#include "meter/power_view.h"
#include "meter/sampler.h"
#include "meter/signals.h"

namespace perjoule::cli {
namespace {

std::string bar(double share, int width) {
  const long full = std::lround(std::clamp(share, 0.0, 1.0) * width);
  return std::string(static_cast<std::size_t>(full), '|') +
         std::string(static_cast<std::size_t>(width - full), '.');
}

std::string optional_text(const std::optional<double>& value, const std::string& unit) {
  return value ? fmt::format("{:.0f}{}", *value, unit) : std::string("-");
}

std::string throttled(const DeviceState& state) {
  std::string words;
  for (const std::string& reason : state.throttle_reasons)
    words += (words.empty() ? "" : ", ") + reason;
  return words;
}

std::string device_lines(const PowerPicture& picture) {
  using Align = Table::Align;
  Table table({{"DEVICE"},
               {"NAME"},
               {"POWER", Align::kRight},
               {"OF LIMIT"},
               {"BUSY", Align::kRight},
               {"CLOCK", Align::kRight},
               {"TEMP", Align::kRight},
               {"SO FAR", Align::kRight},
               {"STATUS"},
               {"HELD BACK BY"}});
  std::vector<DeviceInfo> infos;
  for (const DevicePower& device : picture.devices) infos.push_back(device.info);
  const std::vector<std::string> names = short_words(infos);
  for (std::size_t i = 0; i < picture.devices.size(); ++i) {
    const DevicePower& device = picture.devices[i];
    const DeviceState& state = device.state;
    const bool known = device.energy.status != Status::kMissing;
    const std::string limit =
        state.power_limit && state.power_limit->value() > 0 && known
            ? bar(device.power / *state.power_limit, 10) + " " + to_text(*state.power_limit, 3)
            : "";
    table.add({names[i], device.info.name, known ? to_text(device.power, 3) : "unknown", limit,
               state.utilisation ? percent(*state.utilisation, 0) : "-",
               state.clock ? to_text(*state.clock) : "-", optional_text(state.temperature, " C"),
               to_text(device.so_far, 4), device.energy.status_text(), throttled(state)});
  }
  return table.text();
}

std::string process_lines(const PowerPicture& picture, std::size_t rows) {
  using Align = Table::Align;
  Table table({{"PID", Align::kRight},
               {"COMMAND"},
               {"POWER", Align::kRight},
               {"CPU", Align::kRight},
               {"OF CPU", Align::kRight},
               {"OF GPU", Align::kRight},
               {"GROUP"}});
  for (std::size_t i = 0; i < std::min(rows, picture.processes.size()); ++i) {
    const ProcessPower& one = picture.processes[i];
    table.add({std::to_string(one.pid), one.name, to_text(one.power(), 3),
               percent(one.cpu_share, 0), to_text(one.cpu_power, 3),
               one.gpu_power.value() > 0 ? to_text(one.gpu_power, 3) : "-", one.cgroup});
  }
  std::string text = table.text();
  if (picture.unattributed.value() > 0)
    text += fmt::format("nobody's: {}\n", to_text(picture.unattributed, 3));
  return text;
}

std::string picture_text(const PowerPicture& picture, std::size_t rows) {
  return fmt::format("total {} ({}) over the last {}; processes' shares are estimates\n\n",
                     to_text(picture.total, 4), picture.energy.status_text(),
                     to_text(picture.span, 3)) +
         device_lines(picture) + "\n" + process_lines(picture, rows);
}

/// The terminal without echo and line buffering, so that a key ends the view; as found afterwards.
class RawTerminal {
 public:
  RawTerminal() {
    if (::isatty(STDIN_FILENO) == 0 || ::tcgetattr(STDIN_FILENO, &found_) != 0) return;
    active_ = true;
    termios raw = found_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    print("\033[?1049h\033[?25l");
  }
  ~RawTerminal() {
    if (!active_) return;
    print("\033[?25h\033[?1049l");
    ::tcsetattr(STDIN_FILENO, TCSANOW, &found_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  termios found_{};
  bool active_ = false;
};

std::size_t terminal_rows() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 40;
}

/// Waits for the next refresh; false when a key or a signal ends the view.
bool wait_for_next(const SignalWatch& signals, Seconds every) {
  pollfd watched[2] = {{signals.fd(), POLLIN, 0},
                       {::isatty(STDIN_FILENO) != 0 ? STDIN_FILENO : -1, POLLIN, 0}};
  ::poll(watched, 2, static_cast<int>(every.value() * 1e3));
  if (watched[1].revents != 0) {
    char key = 0;
    if (::read(STDIN_FILENO, &key, 1) == 1 && (key == 'q' || key == 'Q')) return false;
  }
  while (const auto arrived = signals.next()) {
    if (arrived->signal != SIGUSR1 && arrived->signal != SIGUSR2) return false;
  }
  return true;
}

Json top_document(const PowerPicture& picture) {
  Json json = Json::object();
  json["schema"] = "perjoule.top.v1";
  add_picture(json, picture);
  return json;
}

Result<int> run_top(const Arguments& arguments) {
  PJ_TRY(const auto every, arguments.read<Seconds>("every", parse_seconds));
  if (every->value() < 0.05 || every->value() > 3600) {
    return Error::invalid_argument("--every " + arguments.value("every") +
                                   ": outside 50 ms to 1 h");
  }
  std::int64_t left = output_is_terminal() && !arguments.json() ? -1 : 1;
  if (arguments.has("count")) {
    const auto count = parse_integer(arguments.value("count"));
    if (!count || *count < 1)
      return Error::invalid_argument("--count " + arguments.value("count") +
                                     ": not a count above 0");
    left = *count;
  }
  const RealClock clock;
  const Roots roots = Roots::from_environment();
  PJ_TRY(const Inventory machine, find_machine(clock));
  if (machine.sources().empty())
    return Error::unavailable("nothing here can be measured", "perjoule doctor says why");
  PJ_TRY(const SignalWatch signals, SignalWatch::start());
  PJ_TRY(const std::vector<Calibration> calibrations, load_calibrations(calibration_path()));
  Meter meter(machine.sources(), clock, 0, calibrations);
  PJ_TRY(const auto sampler, Sampler::start(meter, Seconds(0)));
  PowerView view(machine, meter, roots.procfs);
  const bool live = output_is_terminal() && !arguments.json();
  std::optional<RawTerminal> terminal;
  if (live) terminal.emplace();
  while (left != 0 && wait_for_next(signals, *every)) {
    PJ_TRY(const PowerPicture picture, view.refresh());
    if (arguments.json()) {
      print(top_document(picture).dump() + "\n");
    } else if (live) {
      const std::size_t used = picture.devices.size() + 8;
      print("\033[H\033[J" +
            picture_text(picture, terminal_rows() > used ? terminal_rows() - used : 5) +
            "q to quit");
    } else {
      print(picture_text(picture, 20));
    }
    if (left > 0) --left;
  }
  return kDone;
}

}  // namespace

Verb top_verb() {
  Verb verb;
  verb.name = "top";
  verb.summary = "who draws what, live, by device and process";
  verb.description =
      "Refreshes until q or Ctrl-C on a terminal; prints once in a pipe. A CPU's power is shared "
      "among processes by CPU "
      "time, a GPU's by utilisation; the shares of a device add up to its power. --json "
      "prints one document a line for each refresh (JSON lines, perjoule.top.v1).";
  verb.options = {{"every", "TIME", "time between refreshes", "1s"},
                  {"count", "N", "stop after so many refreshes"}};
  verb.examples = {"perjoule top", "perjoule top --every 5s --count 12 --json >power.jsonl"};
  verb.run = run_top;
  return verb;
}

}  // namespace perjoule::cli
