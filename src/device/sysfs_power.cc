#include "device/sysfs_power.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace perjoule {

Reading SysfsSource::read_number(int fd) noexcept {
  char text[32];
  const ssize_t count = ::pread(fd, text, sizeof(text), 0);
  if (count < 0) return {code_of_errno(errno), 0};
  Reading reading{ErrorCode::kOk, 0};
  const auto parsed = std::from_chars(text, text + count, reading.micro);
  // A device that vanished mid-read gives nothing; half a number cannot come from one pread of
  // sysfs.
  if (parsed.ec != std::errc() || parsed.ptr == text) reading.code = ErrorCode::kDataLoss;
  return reading;
}

double SysfsSource::busy() noexcept {
  if (!busy_.valid()) return -1;
  const Reading percent = read_number(busy_.get());
  if (percent.code != ErrorCode::kOk || percent.micro > 100) return -1;
  return static_cast<double>(percent.micro) / 100;
}

std::optional<double> sysfs_number(const std::string& path) {
  const auto text = read_attribute(path);
  return text ? parse_number(*text) : std::nullopt;
}

Result<std::string> SysfsLimit::get() {
  PJ_TRY(const std::string text, read_attribute(path_));
  const auto microwatts = parse_number(text);
  if (!microwatts) return Error::data_loss(path_ + ": not a number: '" + text + "'");
  return fmt::format("{} W", *microwatts / 1e6);
}

Outcome SysfsLimit::set(const std::string& value) {
  PJ_TRY(const double watts, knob_number(info_, value));
  Outcome written = write_attribute(path_, fmt::format("{}", std::llround(watts * 1e6)));
  if (written) return written;
  Error error = written.error();
  // The kernel answers ENODATA for a limit the hardware refused, a BIOS lock included.
  if (error.code == ErrorCode::kDataLoss) {
    return Error::permission_denied(info_.id + ": the hardware refused the limit",
                                    "see whether the BIOS locks power limits");
  }
  if (error.code == ErrorCode::kPermissionDenied) error.remedy = "setting a power limit needs root";
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace perjoule
