#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/text.h"

namespace perjoule {

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int FileDescriptor::release() {
  const int fd = fd_;
  fd_ = -1;
  return fd;
}

void FileDescriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

namespace {
tl::unexpected<Error> too_large(const std::string& path, std::size_t most) {
  constexpr double kGiB = 1 << 30;
  return Error::out_of_range(
      fmt::format("{}: larger than {:.3g} GiB", path, static_cast<double>(most) / kGiB),
      "files are read whole, up to that size");
}

Result<std::string> read_all(int fd, const std::string& path, std::size_t most) {
  std::string text;
  struct stat found {};
  // Its size is only a hint: that of a file in /proc says nothing, and it may grow.
  if (::fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_size > 0) {
    if (static_cast<std::size_t>(found.st_size) > most) return too_large(path, most);
    text.reserve(static_cast<std::size_t>(found.st_size));
  }
  char buffer[65536];
  for (;;) {
    const ssize_t count = ::read(fd, buffer, sizeof(buffer));
    if (count == 0) return text;
    if (count < 0) {
      if (errno == EINTR) continue;
      return Error::from_errno(errno, path);
    }
    if (static_cast<std::size_t>(count) > most - text.size()) return too_large(path, most);
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

Outcome write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return Error::from_errno(errno, path, errno == ENOSPC ? "free some space and try again" : "");
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}
}  // namespace

Result<FileDescriptor> open_for_reading(const std::string& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return Error::from_errno(errno, path);
  return fd;
}

Result<std::string> read_file(const std::string& path, std::size_t most) {
  if (path == "-") return read_all(STDIN_FILENO, "standard input", most);
  PJ_TRY(const FileDescriptor fd, open_for_reading(path));
  return read_all(fd.get(), path, most);
}

Result<std::string> read_beginning(const std::string& path, std::size_t most) {
  PJ_TRY(const FileDescriptor fd, open_for_reading(path));
  std::string text(most, '\0');
  std::size_t size = 0;
  while (size < most) {
    const ssize_t count = ::read(fd.get(), text.data() + size, most - size);
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Error::from_errno(errno, path);
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return text;
}

Result<std::string> read_attribute(const std::string& path) {
  PJ_TRY(const std::string text, read_file(path));
  return std::string(trim(text.substr(0, text.find('\n'))));
}

namespace {
/// A device or a pipe is written to, never replaced.
bool is_special(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode);
}

/// The file a link leads to, so that the link stays and the file is what changes.
std::string behind_links(const std::string& path) {
  char resolved[PATH_MAX];
  return ::realpath(path.c_str(), resolved) != nullptr ? resolved : path;
}

Outcome write_directly(const std::string& path, std::string_view text) {
  const FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return Error::from_errno(errno, path);
  return write_all(fd.get(), text, path);
}
}  // namespace

namespace {
std::string temporary_beside(const std::string& path) {
  return fmt::format("{}.{}.tmp", path, ::getpid());
}
FileDescriptor open_temporary(const std::string& temporary) {
  return FileDescriptor(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
}
/// errno in words that name the file and, where its folder is the reason, the folder.
tl::unexpected<Error> cannot_write(int number, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (number == ENOENT && is_folder(folder)) {
    // Such as those of /proc, where nobody makes files.
    return Error::not_supported(fmt::format("{}: no file can be made in {}", path, folder),
                                "name another file");
  }
  if (number == ENOENT) {
    return Error::not_found(fmt::format("{}: there is no folder {}", path, folder),
                            "make the folder, or name another file");
  }
  const bool folder_refuses = number == EACCES || number == EPERM || number == EROFS;
  return Error::from_errno(
      number, path,
      folder_refuses ? fmt::format("make {} writable, or name another file", folder) : "");
}
}  // namespace

namespace {
/// As of --output "$FILE" where nobody has set it.
Outcome check_named(const std::string& path) {
  if (!path.empty()) return {};
  return Error::invalid_argument("the name of a file to write is empty", "name a file");
}
}  // namespace

Outcome check_writable(const std::string& named) {
  PJ_CHECK(check_named(named));
  if (is_folder(named)) return Error::from_errno(EISDIR, named, "name a file");
  if (is_special(named)) {
    if (::faccessat(AT_FDCWD, named.c_str(), W_OK, AT_EACCESS) == 0) return {};
    return Error::from_errno(errno, named);
  }
  const std::string path = behind_links(named);
  const std::string temporary = temporary_beside(path);
  if (!open_temporary(temporary).valid()) return cannot_write(errno, path);
  ::unlink(temporary.c_str());
  return {};
}

Outcome write_file_atomically(const std::string& named, std::string_view text) {
  PJ_CHECK(check_named(named));
  if (is_special(named)) return write_directly(named, text);
  const std::string path = behind_links(named);
  const std::string temporary = temporary_beside(path);
  const FileDescriptor fd = open_temporary(temporary);
  if (!fd.valid()) return cannot_write(errno, path);
  // Who may read it stays as it was.
  struct stat before {};
  if (::stat(path.c_str(), &before) == 0) (void)::fchmod(fd.get(), before.st_mode & 07777U);
  Outcome written = write_all(fd.get(), text, path);
  if (written && ::fsync(fd.get()) != 0 && errno != EINVAL)
    written = Error::from_errno(errno, path);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0)
    written = Error::from_errno(errno, path);
  if (!written) ::unlink(temporary.c_str());
  return written;
}

Outcome write_attribute(const std::string& path, std::string_view text) {
  // Truncation means nothing to sysfs and keeps a shorter value whole in a tree made of plain
  // files.
  FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!fd.valid()) return Error::from_errno(errno, path);
  const ssize_t count = ::write(fd.get(), text.data(), text.size());
  if (count < 0) return Error::from_errno(errno, path);
  return {};
}

std::vector<std::string> list_folder(const std::string& path) {
  std::vector<std::string> names;
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return names;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

bool path_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool is_folder(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

bool is_plain_file(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

Outcome make_folders(const std::string& path) {
  for (std::size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at + 1);
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0755) == 0) continue;
    if (errno != EEXIST) return Error::from_errno(errno, part);
    if (!is_folder(part)) return Error::from_errno(ENOTDIR, part);
  }
  return {};
}

std::string state_folder() {
  if (std::string chosen = environment("PERJOULE_STATE"); !chosen.empty()) return chosen;
  if (std::string state = environment("XDG_STATE_HOME"); !state.empty()) return state + "/perjoule";
  std::string home = environment("HOME");
  if (home.empty()) {
    const passwd* user = ::getpwuid(::getuid());
    home = user != nullptr ? user->pw_dir : "/tmp";
  }
  return home + "/.local/state/perjoule";
}

std::string environment(const char* name, std::string_view otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::string(value) : std::string(otherwise);
}

}  // namespace perjoule
