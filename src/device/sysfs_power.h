// One number in a file, in micro-units, as a source or as a power limit: what powercap, hwmon and
// the battery's files have in common.
#pragma once

#include <string>

#include "base/file.h"
#include "device/knob.h"
#include "device/source.h"

namespace perjoule {

/// Reads microjoules or microwatts from the file that is open; one pread a reading.
class SysfsSource : public Source {
 public:
  /// `busy_percent` is a file of 0 to 100, or not valid where there is none.
  SysfsSource(SourceInfo info, FileDescriptor value, FileDescriptor busy_percent = {})
      : info_(std::move(info)), value_(std::move(value)), busy_(std::move(busy_percent)) {}
  const SourceInfo& info() const noexcept override { return info_; }
  Reading read() noexcept override { return read_number(value_.get()); }
  double busy() noexcept override;

  /// The unsigned number the file begins with: kDataLoss when it holds none, as the file of a
  /// device that went away does.
  static Reading read_number(int fd) noexcept;

 private:
  SourceInfo info_;
  FileDescriptor value_;
  FileDescriptor busy_;
};

/// A limit in microwatts in a file.
class SysfsLimit final : public Knob {
 public:
  SysfsLimit(KnobInfo info, std::string path) : info_(std::move(info)), path_(std::move(path)) {}
  const KnobInfo& info() const override { return info_; }
  Result<std::string> get() override;
  Outcome set(const std::string& value) override;

 private:
  KnobInfo info_;
  std::string path_;
};

/// The file's number; none when it cannot be read or holds another thing.
std::optional<double> sysfs_number(const std::string& path);

}  // namespace perjoule
