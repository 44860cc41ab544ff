#include "device/ipmi_dcmi.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/ipmi.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <cerrno>

#include "base/file.h"
#include "device/plain_device.h"

namespace perjoule {
namespace {

constexpr std::size_t kAnswerLength = 19;
constexpr unsigned char kMeasuring = 0x40;  // bit 6 of the state: power is being measured

enum class Trouble { kNone, kShort, kRefused, kOtherGroup, kOff };

std::uint16_t word(std::span<const unsigned char> bytes, std::size_t at) {
  return static_cast<std::uint16_t>(bytes[at] | (bytes[at + 1] << 8U));
}

Trouble trouble_of(std::span<const unsigned char> answer) noexcept {
  if (answer.empty()) return Trouble::kShort;
  if (answer[0] != 0) return Trouble::kRefused;
  if (answer.size() < kAnswerLength) return Trouble::kShort;
  if (answer[1] != 0xDC) return Trouble::kOtherGroup;
  if ((answer[18] & kMeasuring) == 0) return Trouble::kOff;
  return Trouble::kNone;
}

ErrorCode code_of_completion(unsigned char completion) noexcept {
  switch (completion) {
    case 0xC1:  // no such command
    case 0xCC:  // no such field
      return ErrorCode::kNotSupported;
    case 0xC3:
      return ErrorCode::kTimeout;
    case 0xD4:
      return ErrorCode::kPermissionDenied;
    default:
      return ErrorCode::kUnavailable;
  }
}

/// /dev/ipmi0.
class KernelLine final : public IpmiLine {
 public:
  KernelLine(FileDescriptor fd, Seconds timeout)
      : fd_(std::move(fd)), timeout_ms_(static_cast<int>(timeout.value() * 1e3)) {}

  ErrorCode ask(unsigned char net_function, unsigned char command,
                std::span<const unsigned char> request, std::span<unsigned char> answer,
                std::size_t& got) noexcept override {
    unsigned char sent[16];
    if (request.size() > sizeof(sent)) return ErrorCode::kInvalidArgument;
    std::copy(request.begin(), request.end(), sent);
    ipmi_system_interface_addr address{};
    address.addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE;
    address.channel = IPMI_BMC_CHANNEL;
    ipmi_req question{};
    question.addr = reinterpret_cast<unsigned char*>(&address);
    question.addr_len = sizeof(address);
    question.msgid = ++number_;
    question.msg.netfn = net_function;
    question.msg.cmd = command;
    question.msg.data = sent;
    question.msg.data_len = static_cast<unsigned short>(request.size());
    if (::ioctl(fd_.get(), IPMICTL_SEND_COMMAND, &question) != 0) return code_of_errno(errno);
    return receive(answer, got);
  }

 private:
  /// Answers to questions that timed out before come first and are thrown away.
  ErrorCode receive(std::span<unsigned char> answer, std::size_t& got) noexcept {
    constexpr int kMostLateAnswers = 4;
    for (int i = 0; i < kMostLateAnswers; ++i) {
      pollfd watched{fd_.get(), POLLIN, 0};
      const int ready = ::poll(&watched, 1, timeout_ms_);
      if (ready == 0) return ErrorCode::kTimeout;
      if (ready < 0) return code_of_errno(errno);
      ipmi_addr from{};
      ipmi_recv received{};
      received.addr = reinterpret_cast<unsigned char*>(&from);
      received.addr_len = sizeof(from);
      received.msg.data = answer.data();
      received.msg.data_len = static_cast<unsigned short>(answer.size());
      if (::ioctl(fd_.get(), IPMICTL_RECEIVE_MSG_TRUNC, &received) != 0)
        return code_of_errno(errno);
      if (received.recv_type != IPMI_RESPONSE_RECV_TYPE || received.msgid != number_) continue;
      got = received.msg.data_len;
      return ErrorCode::kOk;
    }
    return ErrorCode::kTimeout;
  }

  FileDescriptor fd_;
  int timeout_ms_;
  long number_ = 0;
};

class DcmiSource final : public Source {
 public:
  DcmiSource(SourceInfo info, std::unique_ptr<IpmiLine> line)
      : info_(std::move(info)), line_(std::move(line)) {}
  const SourceInfo& info() const noexcept override { return info_; }
  Reading read() noexcept override {
    unsigned char answer[64];
    std::size_t got = 0;
    const ErrorCode code =
        line_->ask(kDcmiNetFunction, kDcmiGetPowerReading, kDcmiPowerRequest, answer, got);
    if (code != ErrorCode::kOk) return {code, 0};
    return read_dcmi_power({answer, got});
  }

 private:
  SourceInfo info_;
  std::unique_ptr<IpmiLine> line_;
};

}  // namespace

Result<DcmiPower> parse_dcmi_power(std::span<const unsigned char> answer) {
  switch (trouble_of(answer)) {
    case Trouble::kShort:
      return Error::data_loss(fmt::format("DCMI: the answer ends after {} bytes", answer.size()));
    case Trouble::kRefused:
      return tl::unexpected<Error>(
          Error{code_of_completion(answer[0]),
                fmt::format("DCMI: the controller refused with code {:#x}", answer[0]), ""});
    case Trouble::kOtherGroup:
      return Error::data_loss(fmt::format("DCMI: the answer is of group {:#x}", answer[1]));
    case Trouble::kOff:
      return Error::unavailable("DCMI: the controller does not measure power at present");
    case Trouble::kNone:
      break;
  }
  const auto watts = [answer](std::size_t at) { return Watts(word(answer, at)); };
  const double period_ms = word(answer, 14) + 65536.0 * word(answer, 16);
  return DcmiPower{watts(2), watts(4), watts(6), watts(8), Seconds(period_ms * 1e-3)};
}

Reading read_dcmi_power(std::span<const unsigned char> answer) noexcept {
  switch (trouble_of(answer)) {
    case Trouble::kNone:
      return {ErrorCode::kOk, std::uint64_t{word(answer, 2)} * 1'000'000};
    case Trouble::kRefused:
      return {code_of_completion(answer[0]), 0};
    case Trouble::kOff:
      return {ErrorCode::kUnavailable, 0};
    default:
      return {ErrorCode::kDataLoss, 0};
  }
}

Result<std::unique_ptr<IpmiLine>> open_ipmi(const Roots& roots, Seconds timeout) {
  const std::string path = roots.dev + "/ipmi0";
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd.valid())
    return Error::from_errno(errno, path, "run as root, or let a group open " + path);
  return std::unique_ptr<IpmiLine>(std::make_unique<KernelLine>(std::move(fd), timeout));
}

Discovered discover_dcmi(std::unique_ptr<IpmiLine> line) {
  Discovered found;
  SourceInfo info;
  info.id = "node/dcmi";
  info.device = "node";
  info.backend = "ipmi";
  info.scope = "node";
  info.kind = SourceKind::kPowerGauge;
  info.boundary = Boundary::kNode;
  info.status = Status::kMeasured;
  info.tick = Seconds(1);
  info.averaging = Seconds(1);
  info.quantum = 1;
  info.gain = 0.03;
  info.offset = Watts(2);
  info.max_power = Watts(65535);
  info.overlaps = "cpu:0/package";  // the node contains everything else
  auto source = std::make_unique<DcmiSource>(info, std::move(line));
  if (const Reading first = source->read(); first.code != ErrorCode::kOk) {
    found.problems.push_back(
        {info.id, Error{first.code, "DCMI: the management controller gives no power", ""}});
    return found;
  }
  DeviceInfo description;
  description.id = "node";
  description.kind = DeviceKind::kNode;
  description.name = "whole machine";
  description.driver = "IPMI DCMI";
  auto device = std::make_unique<PlainDevice>(std::move(description));
  device->add(std::move(source));
  found.devices.push_back(std::move(device));
  return found;
}

Discovered discover_ipmi_dcmi(const Roots& roots) {
  auto line = open_ipmi(roots);
  if (line) return discover_dcmi(std::move(*line));
  Discovered found;
  if (line.error().code != ErrorCode::kNotFound)
    found.problems.push_back({"node/dcmi", line.error()});
  return found;
}

}  // namespace perjoule
