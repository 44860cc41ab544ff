#include "device/amdgpu_metrics.h"

#include <gtest/gtest.h>

#include <cstring>

#include "device/temp_tree.h"

namespace perjoule {
namespace {

/// A table of that revision with a count of 2^-16 J and a socket power.
std::string table(int content, std::uint64_t energy, std::uint16_t watts, std::size_t size = 160,
                  int format = 1) {
  std::string bytes(size, '\0');
  const auto put = [&bytes](std::size_t at, auto value) {
    if (at + sizeof(value) <= bytes.size()) std::memcpy(bytes.data() + at, &value, sizeof(value));
  };
  put(0, static_cast<std::uint16_t>(size));
  put(2, static_cast<unsigned char>(format));
  put(3, static_cast<unsigned char>(content));
  put(content == 3 ? 22 : 10, watts);
  put(content == 5 ? 88 : 24, energy);
  return bytes;
}
std::span<const unsigned char> bytes_of(const std::string& text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

TEST(AmdgpuMetrics, TheKnownRevisionsAreRead) {
  for (const int content : {3, 4, 5}) {
    const auto metrics = parse_amdgpu_metrics(bytes_of(table(content, 65536, 300)));
    ASSERT_TRUE(metrics) << content;
    EXPECT_EQ(metrics->energy, 65536U);
    EXPECT_EQ(metrics->socket_power, Watts(300));
  }
}

TEST(AmdgpuMetrics, OtherRevisionsAndShortTablesAreRefused) {
  for (const int content : {0, 1, 2, 6, 255})
    EXPECT_EQ(parse_amdgpu_metrics(bytes_of(table(content, 1, 1))).error().code,
              ErrorCode::kNotSupported);
  EXPECT_EQ(parse_amdgpu_metrics(bytes_of(table(3, 1, 1, 160, 2))).error().code,
            ErrorCode::kNotSupported);
  const std::string whole = table(5, 65536, 300);
  for (std::size_t size = 0; size < 96; ++size) {
    EXPECT_FALSE(parse_amdgpu_metrics(bytes_of(whole).first(size))) << size;
  }
  EXPECT_FALSE(parse_amdgpu_metrics(bytes_of(table(3, 1, 1, 30))));
}

TEST(AmdgpuMetrics, AllBitsSetIsNotAvailable) {
  const auto metrics = parse_amdgpu_metrics(bytes_of(table(3, UINT64_MAX, UINT16_MAX)));
  ASSERT_TRUE(metrics);
  EXPECT_FALSE(metrics->energy);
  EXPECT_FALSE(metrics->socket_power);
}

TEST(AmdgpuMetrics, ACountIsTwoToTheMinus16Joules) {
  EXPECT_EQ(microjoules_of_amd_count(65536), 1'000'000U);
  EXPECT_EQ(microjoules_of_amd_count(1), 15U);
  // amdsmi#38: 0.34 kJ where 5.2 kJ were drawn is the count without its resolution.
  EXPECT_EQ(microjoules_of_amd_count(340'787'200), 5'200'000'000U);
  // Ten years at 1 kW do not overflow.
  EXPECT_EQ(microjoules_of_amd_count(std::uint64_t{315'360'000'000} << 16U),
            std::uint64_t{315'360'000'000} * 1'000'000);
}

TEST(AmdgpuMetrics, TheSourceReadsAndSurvivesItsFile) {
  const TempTree tree;
  tree.write_bytes("gpu_metrics", table(3, 131072, 200));
  auto source = amdgpu_metrics_source(tree / "gpu_metrics", {});
  ASSERT_TRUE(source) << source.error().text();
  EXPECT_EQ((*source)->read().micro, 2'000'000U);
  tree.write_bytes("gpu_metrics", table(3, 65536, 200));  // the driver was loaded anew
  EXPECT_EQ((*source)->read().micro, 1'000'000U);
  tree.write_bytes("gpu_metrics", "");  // the GPU went away
  EXPECT_EQ((*source)->read().code, ErrorCode::kDataLoss);
  tree.write_bytes("zero", table(3, 0, 200));
  EXPECT_EQ(amdgpu_metrics_source(tree / "zero", {}).error().code, ErrorCode::kNotSupported);
  tree.write_bytes("closed", table(3, 1, 200));
  tree.deny("closed");
  const OrdinaryUser nobody;
  EXPECT_EQ(amdgpu_metrics_source(tree / "closed", {}).error().code, ErrorCode::kPermissionDenied);
}
}  // namespace
}  // namespace perjoule
