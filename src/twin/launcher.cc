#include "twin/launcher.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/private_folder.h"
#include "base/process.h"
#include "base/text.h"
#include "twin/powercap_tree.h"
#include "twin/process_watch.h"
#include "twin/recording.h"
#include "twin/reduced_library.h"
#include "twin/world.h"

namespace perjoule::twin {
namespace {

constexpr char kLibrary[] = "libnvidia-ml.so.1";
constexpr double kPowercapPeriod = 0.002;

Result<World> make_world(const LaunchOptions& options, const std::string& path) {
  if (!options.replay.empty()) {
    PJ_TRY(const Recording recording, read_recording(options.replay));
    PJ_CHECK(create_replay(path, recording, options.speed));
    return World::open(path);
  }
  PJ_TRY(const std::vector<std::string> models, parse_gpus(options.gpus));
  return World::create(path, models, ClockMode::kReal, options.speed);
}

/// The library folder for the child: the shared one, or a private copy that lacks some symbols.
Result<std::string> library_folder(const LaunchOptions& options, const std::string& folder) {
  std::vector<std::string> missing;
  for (const Fault& fault : options.faults) {
    if (fault.kind == FaultKind::kMissing) missing.push_back(fault.call);
  }
  if (missing.empty()) return options.standin_folder;
  PJ_CHECK(make_folders(folder + "/lib"));
  PJ_CHECK(make_reduced_library(options.standin_folder + "/" + kLibrary,
                                folder + "/lib/" + kLibrary, missing));
  return folder + "/lib";
}

/// Blocks the signals that we pass on, and reads them from a descriptor.
class PassedSignals {
 public:
  PassedSignals() {
    sigemptyset(&set_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
      sigaddset(&set_, number);
    }
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
    fd_ = FileDescriptor(::signalfd(-1, &set_, SFD_CLOEXEC));
  }
  ~PassedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  PassedSignals(const PassedSignals&) = delete;
  PassedSignals& operator=(const PassedSignals&) = delete;

  int fd() const { return fd_.get(); }
  void pass_on(const ChildProcess& child) const {
    signalfd_siginfo info;
    if (::read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return;
    // What the terminal sends reaches the whole foreground group without our help.
    if (info.ssi_code == SI_KERNEL) return;
    child.send_signal(static_cast<int>(info.ssi_signo));
  }

 private:
  sigset_t set_ = {};
  sigset_t before_ = {};
  FileDescriptor fd_;
};

/// Keeps the processors' fake counters moving until stopped.
void follow_powercap(const std::stop_token& stop, PowercapTree& tree) {
  RealClock clock;
  Instant last = clock.now();
  Seconds busy = busy_core_seconds().value_or(Seconds(0));
  while (!stop.stop_requested()) {
    clock.sleep_until(last + Seconds(kPowercapPeriod));
    const Instant now = clock.now();
    const Seconds busy_now = busy_core_seconds().value_or(busy);
    // A full disk or a removed folder: readers see a counter that stands still.
    (void)tree.add(now - last, busy_now - busy);
    last = now;
    busy = busy_now;
  }
}

Result<int> run_child(const SpawnOptions& spawn, const PassedSignals& signals) {
  PJ_TRY(ChildProcess child, ChildProcess::start(spawn));
  for (;;) {
    pollfd watched[] = {{child.pidfd(), POLLIN, 0}, {signals.fd(), POLLIN, 0}};
    if (::poll(watched, 2, -1) < 0 && errno != EINTR) {
      return Error::from_errno(errno, "cannot wait for the command");
    }
    if ((watched[1].revents & POLLIN) != 0) signals.pass_on(child);
    if ((watched[0].revents & POLLIN) != 0) break;
  }
  PJ_TRY(const ExitState end, child.wait());
  return end.status;
}

}  // namespace

Result<std::vector<std::string>> parse_gpus(const std::vector<std::string>& words) {
  std::vector<std::string> keys;
  for (const std::string& word : words) {
    const std::size_t colon = word.find(':');
    std::int64_t count = 1;
    if (colon != std::string::npos) {
      const auto number = parse_integer(std::string_view(word).substr(colon + 1));
      if (!number || *number < 1 || *number > kMaxDevices) {
        return Error::invalid_argument("not a number of devices: " + word,
                                       "write a model and 1 to 16, such as h100:8");
      }
      count = *number;
    }
    keys.insert(keys.end(), static_cast<std::size_t>(count), word.substr(0, colon));
  }
  return keys;
}

Result<std::string> find_standin_folder() {
  const std::string given = environment("PERJOULE_TWIN_LIB");
  if (!given.empty()) {
    if (path_exists(given + "/" + kLibrary)) return given;
    return Error::not_found(fmt::format("PERJOULE_TWIN_LIB has no {}: {}", kLibrary, given));
  }
  char self[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self);
  if (length <= 0) return Error::from_errno(errno, "cannot find our own program");
  const std::string program(self, static_cast<std::size_t>(length));
  const std::string beside = program.substr(0, program.rfind('/'));
  for (const char* place : {"/lib/twin", "/../lib/perjoule/twin"}) {
    if (path_exists(beside + place + "/" + kLibrary)) return beside + place;
  }
  return Error::unavailable(fmt::format("the stand-in {} is not beside {}", kLibrary, program),
                            "set PERJOULE_TWIN_LIB to its folder");
}

std::vector<std::pair<std::string, std::string>> machine_variables(const std::string& folder,
                                                                   const std::string& libraries) {
  const std::string path = environment("LD_LIBRARY_PATH");
  // Knobs of a simulated device are journalled beside it: its name may be that of another
  // simulated machine's device, or, played back, of a real one, whose limit must not be touched.
  // And what is mended on a simulated machine must not be written into the real one's settings.
  return {{kEnvironmentVariable, folder + "/machine"},
          {"LD_LIBRARY_PATH", path.empty() ? libraries : libraries + ":" + path},
          {"PERJOULE_NVML", libraries + "/" + kLibrary},
          {"PERJOULE_KNOBS", folder + "/knobs"},
          {"PERJOULE_ETC_ROOT", folder + "/etc"}};
}

Result<LaunchOutcome> launch(const LaunchOptions& options) {
  PJ_TRY(PrivateFolder folder, PrivateFolder::create("perjoule-twin"));
  const std::string block = folder.path() + "/machine";
  PJ_TRY(World world, make_world(options, block));
  for (const Fault& fault : options.faults) {
    if (fault.kind != FaultKind::kMissing) PJ_CHECK(world.set_fault(fault));
  }
  PJ_TRY(const std::string libraries, library_folder(options, folder.path()));
  SpawnOptions spawn{.arguments = options.command};
  spawn.variables = machine_variables(folder.path(), libraries);
  const PassedSignals signals;  // blocked before any thread of ours can take them
  const std::jthread watcher(
      [&world](const std::stop_token& stop) { watch_processes(stop, world); });
  std::optional<PowercapTree> tree;
  std::jthread follower;
  if (options.powercap) {
    PJ_TRY(PowercapTree made, PowercapTree::create(folder.path() + "/sys"));
    tree.emplace(std::move(made));
    spawn.variables.emplace_back("PERJOULE_SYSFS_ROOT", folder.path() + "/sys");
    follower = std::jthread([&tree](const std::stop_token& stop) { follow_powercap(stop, *tree); });
  }
  LaunchOutcome outcome;
  PJ_TRY(outcome.status, run_child(spawn, signals));
  if (options.keep) outcome.folder = folder.keep();
  return outcome;
}

}  // namespace perjoule::twin
