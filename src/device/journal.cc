#include "device/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace perjoule {
namespace {

using Fate = ProcessIdentity::Fate;

/// A process's start time: field 22 of /proc/PID/stat, counted after the name, which may hold
/// anything.
std::uint64_t start_ticks_of(std::int64_t pid) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid));
  if (!stat) return 0;
  const std::size_t name_end = stat->rfind(')');
  if (name_end == std::string::npos) return 0;
  const auto fields = split(std::string_view(*stat).substr(name_end + 2), ' ');
  constexpr std::size_t kStartTime = 19;
  if (fields.size() <= kStartTime) return 0;
  // A zombie has ended; only its parent does not know yet.
  if (fields[0] == "Z" || fields[0] == "X") return 0;
  return static_cast<std::uint64_t>(parse_integer(fields[kStartTime]).value_or(0));
}

std::string this_boot() {
  return read_attribute("/proc/sys/kernel/random/boot_id").value_or("unknown");
}

std::string this_host() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

/// "pid:[4026531836]": within another one the same number means another process.
std::string this_pid_namespace() {
  char name[64] = {};
  return ::readlink("/proc/self/ns/pid", name, sizeof(name) - 1) > 0 ? name : "";
}

bool is_entry(const std::string& name) { return name.size() > 5 && name.ends_with(".json"); }

/// Holds the folder, so that an entry is not read by one process and replaced by another meanwhile.
/// A file system that cannot lock gives none: then the small risk is taken.
FileDescriptor locked(const std::string& folder) {
  FileDescriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.valid()) ::flock(fd.get(), LOCK_EX);
  return fd;
}

/// "gpu:GPU-1/power-limit" as a file name.
std::string file_name_of(const std::string& knob_id) {
  std::string name = knob_id;
  std::replace(name.begin(), name.end(), '/', '@');
  return name + ".json";
}

Knob* find_knob(const Inventory& machine, const std::string& id) {
  for (Knob* knob : machine.knobs()) {
    if (knob->info().id == id) return knob;
  }
  return nullptr;
}

struct Entry {
  std::string knob;
  std::string original;
  ProcessIdentity owner;
};

Result<Entry> read_entry(const std::string& path) {
  PJ_TRY(const std::string text, read_file(path));
  const auto json = parse_json(text);
  if (!json) return fail(json, path);
  const auto knob = json->string("knob");
  const auto original = json->string("original");
  const auto pid = json->integer("pid");
  const auto start = json->integer("start_ticks");
  const auto boot = json->string("boot_id");
  if (!knob || !original || !pid || !start || !boot)
    return Error::data_loss(path + ": not a knob journal entry");
  return Entry{*knob,
               *original,
               {*pid, static_cast<std::uint64_t>(*start), *boot, json->string("host").value_or(""),
                json->string("pid_namespace").value_or("")}};
}

std::string entry_text(const Entry& entry) {
  Json json = Json::object();
  json["schema"] = "perjoule.knob.v1";
  json["knob"] = entry.knob;
  json["original"] = entry.original;
  json["pid"] = entry.owner.pid;
  json["start_ticks"] = entry.owner.start_ticks;
  json["boot_id"] = entry.owner.boot_id;
  json["host"] = entry.owner.host;
  json["pid_namespace"] = entry.owner.pid_namespace;
  return json.dump() + "\n";
}

}  // namespace

std::string journal_folder() {
  if (std::string chosen = environment("PERJOULE_KNOBS"); !chosen.empty()) return chosen;
  return ::geteuid() == 0 ? "/run/perjoule/knobs" : state_folder() + "/knobs";
}

ProcessIdentity ProcessIdentity::current() { return of(::getpid()); }

ProcessIdentity ProcessIdentity::of(std::int64_t pid) {
  return {pid, start_ticks_of(pid), this_boot(), this_host(), this_pid_namespace()};
}

ProcessIdentity::Fate ProcessIdentity::fate() const {
  if (!host.empty() && host != this_host()) return Fate::kElsewhere;
  if (boot_id != this_boot()) return Fate::kRebooted;
  if (!pid_namespace.empty() && pid_namespace != this_pid_namespace()) return Fate::kElsewhere;
  const bool alive = start_ticks != 0 && start_ticks_of(pid) == start_ticks;
  return alive ? Fate::kAlive : Fate::kDead;
}

std::vector<DeadEntry> dead_entries(const std::string& folder) {
  std::vector<DeadEntry> dead;
  for (const std::string& name : list_folder(folder)) {
    if (!is_entry(name)) continue;
    const auto entry = read_entry(fmt::format("{}/{}", folder, name));
    if (!entry) continue;
    const Fate fate = entry->owner.fate();
    if (fate == Fate::kAlive) continue;
    dead.push_back({entry->knob, entry->original, entry->owner.pid, fate != Fate::kRebooted,
                    fate == Fate::kElsewhere});
  }
  return dead;
}

namespace {

void replay_entry(const std::string& path, const Inventory& machine, Replay& done) {
  const auto entry = read_entry(path);
  if (!entry) {
    // Another process may have put it back between our look at the folder and now.
    if (entry.error().code != ErrorCode::kNotFound) done.problems.push_back({path, entry.error()});
    return;
  }
  const Fate fate = entry->owner.fate();
  if (fate == Fate::kAlive || fate == Fate::kElsewhere) return;
  Knob* knob = find_knob(machine, entry->knob);
  if (fate == Fate::kRebooted && (knob == nullptr || !knob->info().survives_reboot)) {
    ::unlink(path.c_str());  // the reboot put it back already
    return;
  }
  if (knob == nullptr) return;  // its device is not here now; keep the entry for when it is
  if (const Outcome put_back = knob->set(entry->original); !put_back) {
    const auto error = fail(put_back, fmt::format("not put back to {}, as process {} found it",
                                                  entry->original, entry->owner.pid));
    done.problems.push_back({entry->knob, error.value()});
    return;
  }
  done.put_back.push_back(fmt::format("{} put back to {}: process {} ended without doing so",
                                      entry->knob, entry->original, entry->owner.pid));
  ::unlink(path.c_str());
}

}  // namespace

Replay replay_dead(const std::string& folder, const Inventory& machine) {
  Replay done;
  std::vector<std::string> names = list_folder(folder);
  std::erase_if(names, [](const std::string& name) { return !is_entry(name); });
  if (names.empty()) return done;
  const FileDescriptor lock = locked(folder);
  for (const std::string& name : names) {
    replay_entry(fmt::format("{}/{}", folder, name), machine, done);
  }
  return done;
}

Result<KnobJournal> KnobJournal::open(std::string folder, const Inventory& machine) {
  KnobJournal journal(std::move(folder));
  PJ_CHECK(make_folders(journal.folder_));
  journal.replay_ = replay_dead(journal.folder_, machine);
  return journal;
}

KnobJournal::~KnobJournal() { (void)restore(); }

Result<std::string> KnobJournal::enter(Knob& knob, const std::string& path) const {
  const std::string& id = knob.info().id;
  const FileDescriptor lock = locked(folder_);
  const auto entry = read_entry(path);
  const Fate fate = entry ? entry->owner.fate() : Fate::kDead;
  if (fate == Fate::kAlive) {
    return Error::conflict(fmt::format("{} is held by process {}", id, entry->owner.pid),
                           "wait for it to end");
  }
  if (fate == Fate::kElsewhere) {
    return Error::conflict(fmt::format("{} is held by process {} of another container or of {}", id,
                                       entry->owner.pid, entry->owner.host),
                           "wait for it to end; when it has, remove " + path);
  }
  // What a dead process found is the original, not what it left.
  std::string original;
  if (entry && fate == Fate::kDead) {
    original = entry->original;
  } else {
    PJ_TRY(original, knob.get());
  }
  PJ_CHECK(write_file_atomically(path, entry_text({id, original, ProcessIdentity::current()})));
  return original;
}

Result<std::string> KnobJournal::turn(Knob& knob, const std::string& value) {
  const std::string& id = knob.info().id;
  const bool known = std::any_of(turned_.begin(), turned_.end(),
                                 [&](const Turned& turned) { return turned.knob == &knob; });
  const std::string path = folder_ + "/" + file_name_of(id);
  if (!known) {
    PJ_TRY(const std::string original, enter(knob, path));
    turned_.push_back({&knob, original, path});
  }
  const Outcome set = knob.set(value);
  if (!set) {
    // Nothing was changed by a refusal: what was journalled only for it is taken back.
    if (!known) {
      ::unlink(path.c_str());
      turned_.pop_back();
    }
    return fail(set);
  }
  return knob.enforced();
}

Outcome KnobJournal::restore() {
  Outcome first;
  std::vector<Turned> stuck;
  for (; !turned_.empty(); turned_.pop_back()) {
    const Turned& turned = turned_.back();
    const Outcome put_back = turned.knob->set(turned.original);
    if (put_back) {
      ::unlink(turned.path.c_str());
      continue;
    }
    if (first) first = fail(put_back, "putting back " + turned.knob->info().id);
    stuck.push_back(turned);
  }
  turned_.assign(stuck.rbegin(), stuck.rend());
  return first;
}

}  // namespace perjoule
