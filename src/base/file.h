// Files and descriptors: whole-file reads and atomic writes with errors that name the path.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace perjoule {

/// Owns one file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release();
  void reset();

 private:
  int fd_ = -1;
};

/// Files are read whole up to this size; a device may have no end.
inline constexpr std::size_t kMostFileSize = std::size_t{4} << 30;

/// The whole file; "-" reads standard input. Works for /proc and sysfs files, whose size says
/// nothing. out_of_range for more than `most` bytes.
Result<std::string> read_file(const std::string& path, std::size_t most = kMostFileSize);
/// At most so many bytes of its beginning.
Result<std::string> read_beginning(const std::string& path, std::size_t most);
/// The file's first line without surrounding space: how sysfs attributes are read.
Result<std::string> read_attribute(const std::string& path);
/// Opens for reading with O_CLOEXEC.
Result<FileDescriptor> open_for_reading(const std::string& path);

/// Replaces the file as a whole: temporary file beside it, fsync, rename. Never leaves half a file.
/// Follows links; a device or pipe is written to as it is.
Outcome write_file_atomically(const std::string& path, std::string_view text);
/// Whether write_file_atomically() will be able to write there, tried beforehand so that a long
/// measurement is not lost to a wrong path: nothing is left behind and what the file holds stays. A
/// disk that is full only later, and a pipe that nobody reads yet, show when it is written.
/// Errors: invalid_argument (no name), not_found (no such folder), not_supported (a folder that
/// takes no files), permission_denied, unavailable (a folder of that name).
Outcome check_writable(const std::string& path);
/// One write(2) into an existing file: how sysfs attributes are set. The kernel's refusal comes
/// back as the error.
Outcome write_attribute(const std::string& path, std::string_view text);

/// Names in a folder, sorted, without "." and ".."; empty when it does not exist or may not be
/// read.
std::vector<std::string> list_folder(const std::string& path);
bool path_exists(const std::string& path);
bool is_folder(const std::string& path);
/// A file with bytes of its own: no folder, device or pipe.
bool is_plain_file(const std::string& path);
/// Makes the folder and those above it. unavailable where one of them is a file.
Outcome make_folders(const std::string& path);

/// $XDG_STATE_HOME/perjoule or ~/.local/state/perjoule: where runs are kept. PERJOULE_STATE
/// overrides it.
std::string state_folder();
/// The environment variable, or `otherwise` when unset or empty.
std::string environment(const char* name, std::string_view otherwise = {});

}  // namespace perjoule
