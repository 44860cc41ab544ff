#include "workload/bench_result.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace perjoule {

std::string_view name_of(BenchKind kind) {
  constexpr std::array<std::string_view, 3> kNames{"text", "image", "video"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view unit_of(BenchKind kind) {
  return kind == BenchKind::kText ? "token" : name_of(kind);
}

namespace {
const Energy* pointer(const std::optional<Energy>& energy) { return energy ? &*energy : nullptr; }
}  // namespace

const Energy* unit_energy(const BenchResult& result) {
  switch (result.kind) {
    case BenchKind::kText:
      return pointer(result.energy.output_token);
    case BenchKind::kImage:
      return pointer(result.energy.image);
    case BenchKind::kVideo:
      return pointer(result.energy.video);
  }
  return nullptr;
}

const Energy* response_energy(const BenchResult& result) {
  return result.kind == BenchKind::kText ? pointer(result.energy.response) : unit_energy(result);
}

bool uncertainty_stated(const Energy& energy) {
  return energy.status == Status::kZero || energy.standard_uncertainty().value() > 0;
}

Energy published_energy(Joules joules, std::string_view source) {
  Energy energy;
  energy.joules = joules;
  energy.source = source;
  energy.status = Status::kReconstructed;
  return energy;
}

std::string text_of(const BenchOrigin& origin) {
  return origin.row == 0 ? origin.file : fmt::format("{}: row {}", origin.file, origin.row);
}

std::string short_gpu_name(std::string_view name) {
  // The vendor's names as drivers give them, and what everyone calls the part. Memory stays in the
  // name where one part is sold with two sizes.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kNames{{
      {"NVIDIA A100-SXM4-40GB", "A100-40GB"},
      {"NVIDIA A100-SXM4-80GB", "A100-80GB"},
      {"NVIDIA H100 80GB HBM3", "H100"},
      {"NVIDIA H200", "H200"},
      {"NVIDIA B200", "B200"},
      {"NVIDIA L40S", "L40S"},
      {"NVIDIA L4", "L4"},
      {"Tesla V100-SXM2-32GB", "V100"},
  }};
  for (const auto& [full, common] : kNames) {
    if (name == full) return std::string(common);
  }
  return std::string(name);
}

}  // namespace perjoule
