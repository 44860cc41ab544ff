#include "device/amdgpu_metrics.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file.h"

namespace perjoule {
namespace {

constexpr std::size_t kLargestTable = 4096;  // a sysfs attribute is at most a page

struct Layout {
  std::size_t power;   ///< u16, W
  std::size_t energy;  ///< u64
};

/// Format 1's revisions with an energy counter, as <kgd_pp_interface.h> lays them out.
std::optional<Layout> layout_of(unsigned char format, unsigned char content) {
  if (format != 1) return std::nullopt;
  if (content == 3) return Layout{22, 24};
  if (content == 4) return Layout{10, 24};
  if (content == 5) return Layout{10, 88};
  return std::nullopt;
}

template <typename T>
T field(std::span<const unsigned char> table, std::size_t at) {
  T value;
  std::memcpy(&value, table.data() + at, sizeof(value));
  return value;
}

enum class Trouble { kNone, kShort, kUnknown };

/// Without text, so that the sampling path can use it.
Trouble read_table(std::span<const unsigned char> table, AmdgpuMetrics& out) {
  if (table.size() < 4) return Trouble::kShort;
  const auto layout = layout_of(table[2], table[3]);
  if (!layout) return Trouble::kUnknown;
  const std::size_t needed = layout->energy + sizeof(std::uint64_t);
  if (table.size() < needed || field<std::uint16_t>(table, 0) < needed) return Trouble::kShort;
  const auto energy = field<std::uint64_t>(table, layout->energy);
  const auto power = field<std::uint16_t>(table, layout->power);
  if (energy != UINT64_MAX) out.energy = energy;
  if (power != UINT16_MAX) out.socket_power = Watts(power);
  return Trouble::kNone;
}

class MetricsSource final : public Source {
 public:
  MetricsSource(SourceInfo info, FileDescriptor fd) : info_(std::move(info)), fd_(std::move(fd)) {}
  const SourceInfo& info() const noexcept override { return info_; }
  Reading read() noexcept override {
    unsigned char table[kLargestTable];
    const ssize_t count = ::pread(fd_.get(), table, sizeof(table), 0);
    if (count < 0) return {code_of_errno(errno), 0};
    AmdgpuMetrics metrics;
    if (read_table({table, static_cast<std::size_t>(count)}, metrics) != Trouble::kNone)
      return {ErrorCode::kDataLoss, 0};
    if (!metrics.energy) return {ErrorCode::kNotSupported, 0};
    return {ErrorCode::kOk, microjoules_of_amd_count(*metrics.energy)};
  }

 private:
  SourceInfo info_;
  FileDescriptor fd_;
};

}  // namespace

Result<AmdgpuMetrics> parse_amdgpu_metrics(std::span<const unsigned char> table) {
  AmdgpuMetrics metrics;
  switch (read_table(table, metrics)) {
    case Trouble::kShort:
      return Error::data_loss(fmt::format("gpu_metrics: cut short at {} bytes", table.size()));
    case Trouble::kUnknown:
      return Error::not_supported(
          fmt::format("gpu_metrics: revision {}.{} is not known", table[2], table[3]));
    case Trouble::kNone:
      break;
  }
  return metrics;
}

Result<std::unique_ptr<Source>> amdgpu_metrics_source(const std::string& path, SourceInfo info) {
  PJ_TRY(FileDescriptor fd, open_for_reading(path));
  unsigned char table[kLargestTable];
  const ssize_t count = ::pread(fd.get(), table, sizeof(table), 0);
  if (count < 0) return Error::from_errno(errno, path);
  const auto metrics = parse_amdgpu_metrics({table, static_cast<std::size_t>(count)});
  if (!metrics) return fail(metrics, path);
  // A counter that stands at 0 on a GPU with a driver loaded is one the chip does not have.
  if (metrics->energy.value_or(0) == 0)
    return Error::not_supported(path + ": this GPU counts no energy");
  return std::unique_ptr<Source>(std::make_unique<MetricsSource>(std::move(info), std::move(fd)));
}

}  // namespace perjoule
