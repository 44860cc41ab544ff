// For tests.
#pragma once

#include <string>
#include <utility>

#include "base/file.h"
#include "device/knob.h"

namespace perjoule {

/// A knob kept in a file, so that another process sees what was set.
class FileKnob final : public Knob {
 public:
  explicit FileKnob(std::string path, double maximum = 300) : path_(std::move(path)) {
    info_.id = "gpu:a/power-limit";
    info_.device = "gpu:a";
    info_.name = "power limit";
    info_.unit = "W";
    info_.minimum = 100;
    info_.maximum = maximum;
  }
  const KnobInfo& info() const override { return info_; }
  Result<std::string> get() override { return read_attribute(path_); }
  Outcome set(const std::string& value) override {
    if (const auto number = knob_number(info_, value); !number) return fail(number);
    return write_file_atomically(path_, value);
  }

 private:
  std::string path_;
  KnobInfo info_;
};

}  // namespace perjoule
