#include "serving/bench/sweep_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "base/json.h"

namespace perjoule {
namespace {

constexpr std::size_t kLongestKey = 120;

/// FNV-1a: the same everywhere.
std::uint64_t number_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

/// In a name or a value: what separates those is none of theirs.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_' || c == '+';
}

}  // namespace

std::string sweep_key(const Config& point) {
  std::string whole;  // told apart whatever the words are
  std::string key;
  bool changed = false;
  const auto add = [&](std::string_view word) {
    whole += fmt::format("{}:{};", word.size(), word);
    for (const char c : word) {
      key += is_plain(c) ? c : '_';
      changed = changed || !is_plain(c);
    }
  };
  for (const Setting one : point.settings()) {
    if (!key.empty()) key += ',';
    add(one.name);
    key += '=';
    add(one.value);
  }
  if (key.empty()) return "point";
  if (key.front() == '.' || key.front() == '-') {
    key.front() = '_';
    changed = true;
  }
  // Two points whose words were changed into the same ones are told apart by what they were.
  if (changed || key.size() > kLongestKey)
    key = fmt::format("{}-{:016x}", key.substr(0, kLongestKey - 17), number_of(whole));
  return key;
}

Result<SweepFolder> SweepFolder::open(const std::string& path) {
  SweepFolder folder(path);
  PJ_CHECK(make_folders(path + "/points"));
  PJ_CHECK(make_folders(path + "/logs"));
  constexpr mode_t kReadableByAll = 0644;
  folder.lock_ = FileDescriptor(
      ::open((path + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kReadableByAll));
  if (!folder.lock_.valid()) return Error::from_errno(errno, path + "/.lock");
  if (::flock(folder.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Error::from_errno(errno, "locking " + path);
    return Error::conflict("another sweep is at work in " + path, "wait for its end");
  }
  return folder;
}

std::string SweepFolder::file_of(const Config& point) const {
  return path_ + "/points/" + sweep_key(point) + ".json";
}

std::string SweepFolder::part_of(const Config& point) const {
  return path_ + "/logs/" + sweep_key(point) + ".part.json";
}

Outcome SweepFolder::keep(const Config& point) const {
  if (::rename(part_of(point).c_str(), file_of(point).c_str()) == 0) return {};
  return Error::from_errno(errno, "keeping " + file_of(point));
}

std::string SweepFolder::log_of(const Config& point) const {
  return path_ + "/logs/" + sweep_key(point) + ".log";
}

bool SweepFolder::is_done(const Config& point) const { return path_exists(file_of(point)); }

Outcome SweepFolder::agree_on(std::string_view shared) const {
  const std::string path = path_ + "/shared.json";
  if (!path_exists(path)) return write_file_atomically(path, shared);
  PJ_TRY(const std::string before, read_file(path));
  if (before == shared) return {};
  return Error::conflict(
      fmt::format("{} holds results of a sweep with other options, server or times ({})", path_,
                  path),
      "take another folder; points may be added to a sweep, what they share may not change");
}

Outcome SweepFolder::write_index(const std::vector<Config>& points) const {
  Json index = Json::object();
  index["schema"] = "perjoule.bench-sweep.v1";
  Json list = Json::array();
  for (const Config& point : points) {
    Json one = Json::object();
    Json settings = Json::object();
    for (const Setting setting : point.settings())
      settings[std::string(setting.name)] = setting.value;
    one["settings"] = std::move(settings);
    one["file"] = "points/" + sweep_key(point) + ".json";
    one["done"] = is_done(point);
    list.push_back(std::move(one));
  }
  index["points"] = std::move(list);
  return write_file_atomically(path_ + "/index.json", index.dump(2) + "\n");
}

}  // namespace perjoule
