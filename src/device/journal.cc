#include "device/journal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace perjoule {
namespace {

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
  return Entry{*knob, *original, {*pid, static_cast<std::uint64_t>(*start), *boot}};
}

std::string entry_text(const Entry& entry) {
  Json json = Json::object();
  json["schema"] = "perjoule.knob.v1";
  json["knob"] = entry.knob;
  json["original"] = entry.original;
  json["pid"] = entry.owner.pid;
  json["start_ticks"] = entry.owner.start_ticks;
  json["boot_id"] = entry.owner.boot_id;
  return json.dump() + "\n";
}

}  // namespace

std::string journal_folder() {
  if (std::string chosen = environment("PERJOULE_KNOBS"); !chosen.empty()) return chosen;
  return ::geteuid() == 0 ? "/run/perjoule/knobs" : state_folder() + "/knobs";
}

ProcessIdentity ProcessIdentity::current() {
  const std::int64_t pid = ::getpid();
  return {pid, start_ticks_of(pid), this_boot()};
}

bool ProcessIdentity::alive() const {
  return boot_id == this_boot() && start_ticks != 0 && start_ticks_of(pid) == start_ticks;
}

std::vector<DeadEntry> dead_entries(const std::string& folder) {
  std::vector<DeadEntry> dead;
  for (const std::string& name : list_folder(folder)) {
    if (!name.ends_with(".json")) continue;
    const auto entry = read_entry(fmt::format("{}/{}", folder, name));
    if (entry && !entry->owner.alive())
      dead.push_back(
          {entry->knob, entry->original, entry->owner.pid, entry->owner.boot_id == this_boot()});
  }
  return dead;
}

Result<KnobJournal> KnobJournal::open(std::string folder, const Inventory& machine) {
  KnobJournal journal(std::move(folder));
  PJ_CHECK(make_folders(journal.folder_));
  journal.replay(machine);
  return journal;
}

KnobJournal::~KnobJournal() { (void)restore(); }

void KnobJournal::replay(const Inventory& machine) {
  for (const std::string& name : list_folder(folder_)) {
    if (name.size() > 5 && name.ends_with(".json")) replay_entry(folder_ + "/" + name, machine);
  }
}

void KnobJournal::replay_entry(const std::string& path, const Inventory& machine) {
  const auto entry = read_entry(path);
  if (!entry) {
    problems_.push_back({path, entry.error()});
    return;
  }
  if (entry->owner.alive()) return;
  Knob* knob = find_knob(machine, entry->knob);
  if (entry->owner.boot_id != this_boot() && (knob == nullptr || !knob->info().survives_reboot)) {
    ::unlink(path.c_str());  // the reboot put it back already
    return;
  }
  if (knob == nullptr) return;  // its device is not here now; keep the entry for when it is
  if (const Outcome put_back = knob->set(entry->original); !put_back) {
    problems_.push_back({entry->knob, put_back.error()});
    return;
  }
  replayed_.push_back(fmt::format("{} put back to {}: process {} ended without doing so",
                                  entry->knob, entry->original, entry->owner.pid));
  ::unlink(path.c_str());
}

Result<std::string> KnobJournal::turn(Knob& knob, const std::string& value) {
  const std::string& id = knob.info().id;
  const bool known = std::any_of(turned_.begin(), turned_.end(),
                                 [&](const Turned& turned) { return turned.knob == &knob; });
  const std::string path = folder_ + "/" + file_name_of(id);
  if (!known) {
    if (const auto entry = read_entry(path); entry && entry->owner.alive()) {
      return Error::conflict(fmt::format("{} is held by process {}", id, entry->owner.pid),
                             "wait for it to end");
    }
    PJ_TRY(const std::string original, knob.get());
    PJ_CHECK(write_file_atomically(path, entry_text({id, original, ProcessIdentity::current()})));
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
  while (!turned_.empty()) {
    const Turned turned = turned_.back();
    turned_.pop_back();
    const Outcome put_back = turned.knob->set(turned.original);
    if (put_back) {
      ::unlink(turned.path.c_str());
    } else if (first) {
      first = fail(put_back,
                   "putting back " + turned.knob->info().id);  // the entry stays for the next start
    }
  }
  return first;
}

}  // namespace perjoule
