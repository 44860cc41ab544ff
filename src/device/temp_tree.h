// For tests: a folder of the test's own that plays sysfs, procfs and /dev, and a span in which the
// process is an ordinary user, so that permissions are tested when the tests run as root too.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "device/roots.h"

namespace perjoule {

class TempTree {
 public:
  TempTree() {
    char pattern[] = "/tmp/perjoule-tree-XXXXXX";
    path_ = ::mkdtemp(pattern);
    // mkdtemp makes it ours alone; the files in it are what permissions are tested on.
    ::chmod(path_.c_str(), 0755);
  }
  ~TempTree() { std::filesystem::remove_all(path_); }
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& relative) const { return path_ + "/" + relative; }
  /// The file with that text and a newline, as sysfs has it; makes the folders.
  void write(const std::string& relative, const std::string& text) const {
    const std::filesystem::path file = *this / relative;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text << "\n";
  }
  void write_bytes(const std::string& relative, const std::string& bytes) const {
    const std::filesystem::path file = *this / relative;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
  }
  void link(const std::string& relative, const std::string& target) const {
    const std::filesystem::path file = *this / relative;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::create_symlink(target, file);
  }
  void remove(const std::string& relative) const { std::filesystem::remove_all(*this / relative); }
  /// Closes the file to everyone but root.
  void deny(const std::string& relative) const { ::chmod((*this / relative).c_str(), 0); }

  /// All roots within the tree; vendor libraries that do not exist.
  Roots roots() const {
    Roots roots;
    roots.sysfs = path_ + "/sys";
    roots.procfs = path_ + "/proc";
    roots.dev = path_ + "/dev";
    roots.etc = path_ + "/etc";
    roots.nvml = path_ + "/no-nvml.so";
    roots.amd_smi = path_ + "/no-amd-smi.so";
    roots.rocm_smi = path_ + "/no-rocm-smi.so";
    return roots;
  }

 private:
  std::string path_;
};

/// While it lives, root has the rights of nobody; an ordinary user keeps his own.
class OrdinaryUser {
 public:
  OrdinaryUser() : was_root_(::geteuid() == 0 && ::seteuid(kNobody) == 0) {}
  ~OrdinaryUser() {
    if (was_root_ && ::seteuid(0) != 0) std::abort();
  }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  bool was_root_;
};

}  // namespace perjoule
