#include "device/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perjoule {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

DeviceInfo gpu(int index, const std::string& uuid, const std::string& pci,
               const std::string& name = "H100", const std::string& vendor = "NVIDIA") {
  DeviceInfo info;
  info.id = "gpu:" + uuid;
  info.kind = DeviceKind::kGpu;
  info.name = name;
  info.vendor = vendor;
  info.index = index;
  info.uuid = uuid;
  info.pci = pci;
  return info;
}

std::vector<DeviceInfo> machine() {
  DeviceInfo cpu;
  cpu.id = "cpu:0";
  cpu.vendor = "Intel";
  return {gpu(0, "GPU-8f2c0000-1111", "0000:17:00.0"), gpu(1, "GPU-8f2d0000-2222", "0000:65:00.0"),
          gpu(2, "GPU-ab000000-3333", "0000:ca:00.0"), cpu};
}

VisibleVariables cuda(const std::string& list, const std::string& order = "") {
  VisibleVariables variables;
  variables.cuda = list;
  variables.cuda_order = order;
  return variables;
}

std::vector<std::string> hidden(const std::vector<DeviceInfo>& devices,
                                const VisibleVariables& variables) {
  return visible_devices(devices, variables).hidden;
}

Result<Selection> select(const std::vector<std::string>& words,
                         const VisibleVariables& variables = {}) {
  const auto devices = machine();
  return select_devices(devices, words, visible_devices(devices, variables));
}

TEST(Selection, ADeviceHasManyNames) {
  for (const char* word : {"gpu:GPU-8f2d0000-2222", "GPU-8f2d", "gpu:GPU-8F2D", "gpu-8f2d", "1",
                           "gpu:1", "0000:65:00.0", "65:00.0", "00000000:65:00.0"}) {
    const auto chosen = select({word});
    ASSERT_TRUE(chosen) << word << ": " << chosen.error().text();
    EXPECT_THAT(chosen->devices, ElementsAre("gpu:GPU-8f2d0000-2222")) << word;
  }
  EXPECT_EQ(select({"gpu"})->devices.size(), 3U);
  EXPECT_THAT(select({"cpu"})->devices, ElementsAre("cpu:0"));
  EXPECT_EQ(select({"all"})->devices.size(), 4U);
  EXPECT_EQ(select({})->devices.size(), 4U);
  // Each once and in the machine's order, however often and in whatever order it is named.
  EXPECT_THAT(select({"cpu:0", "GPU-ab", "2"})->devices,
              ElementsAre("gpu:GPU-ab000000-3333", "cpu:0"));
}

TEST(Selection, WhatFitsTwoOrNoneListsTheCandidates) {
  const auto two = select({"GPU-8f2"});
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().code, ErrorCode::kInvalidArgument);  // a wrong word, status 2
  EXPECT_THAT(two.error().remedy, HasSubstr("gpu:GPU-8f2c0000-1111 (0000:17:00.0)"));
  EXPECT_THAT(two.error().remedy, testing::Not(HasSubstr("GPU-ab")));
  const auto none = select({"GPU-77"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(none.error().remedy, HasSubstr("cpu:0"));
  for (const char* word : {"7", "", "gpu:", "0000:99:00.0", "battery", "-1"}) {
    EXPECT_FALSE(select({word})) << word;
  }
}

TEST(VisibleDevices, UnsetHidesNothingAndEmptyHidesAll) {
  EXPECT_THAT(hidden(machine(), {}), IsEmpty());
  for (const char* list : {"", "-1", "-1,0", "7", "NoDevFiles", "99,0"}) {
    EXPECT_EQ(hidden(machine(), cuda(list)).size(), 3U) << list;
  }
  EXPECT_THAT(visible_devices(machine(), cuda("")).ids, ElementsAre("cpu:0"));
  EXPECT_THAT(visible_devices(machine(), cuda("")).notes, ElementsAre(HasSubstr("3 of 3 GPUs")));
}

TEST(VisibleDevices, CudaStopsAtTheFirstInvalidEntry) {
  EXPECT_THAT(hidden(machine(), cuda("0, 2")), ElementsAre("gpu:GPU-8f2d0000-2222"));
  const VisibleDevices stopped = visible_devices(machine(), cuda("2,9,0"));
  EXPECT_EQ(stopped.hidden.size(), 2U);
  EXPECT_THAT(stopped.notes, testing::Contains(HasSubstr("ends at '9'")));
  // The usual way to hide what follows: no cause for a remark.
  EXPECT_EQ(visible_devices(machine(), cuda("0,-1,1")).notes.size(), 1U);
}

TEST(VisibleDevices, CudaTakesUniqueBeginningsOfUuids) {
  EXPECT_EQ(hidden(machine(), cuda("GPU-ab")).size(), 2U);
  EXPECT_EQ(hidden(machine(), cuda("GPU-8f2")).size(), 3U);  // fits two: not valid
}

TEST(VisibleDevices, NumbersOverSeveralModelsAreNotGuessed) {
  auto devices = machine();
  devices[0].name = "T4";
  // CUDA's 0 is the fastest, which NVML's order does not say.
  const VisibleDevices doubtful = visible_devices(devices, cuda("0"));
  EXPECT_THAT(doubtful.hidden, IsEmpty());
  EXPECT_THAT(doubtful.notes, ElementsAre(HasSubstr("CUDA_DEVICE_ORDER=PCI_BUS_ID")));
  EXPECT_EQ(hidden(devices, cuda("0", "PCI_BUS_ID")).size(), 2U);
  EXPECT_EQ(hidden(devices, cuda("GPU-8f2d")).size(), 2U);
}

TEST(VisibleDevices, AMigInstanceMeansItsWholeGpuAndSaysSo) {
  auto devices = machine();
  devices[1].mig_uuids = {"MIG-aaaa-1", "MIG-bbbb-2"};
  for (const char* list : {"MIG-bbbb-2", "MIG-GPU-8f2d0000-2222/1/0"}) {
    const VisibleDevices visible = visible_devices(devices, cuda(list));
    EXPECT_THAT(visible.ids, ElementsAre("gpu:GPU-8f2d0000-2222", "cpu:0")) << list;
    EXPECT_THAT(visible.notes, testing::Contains(HasSubstr("only for the whole GPU"))) << list;
  }
  EXPECT_EQ(hidden(devices, cuda("MIG-cccc")).size(), 3U);
  const auto chosen = select_devices(devices, {"MIG-aaaa"}, visible_devices(devices, {}));
  ASSERT_TRUE(chosen);
  EXPECT_THAT(chosen->devices, ElementsAre("gpu:GPU-8f2d0000-2222"));
  EXPECT_EQ(chosen->notes.size(), 1U);
}

TEST(VisibleDevices, AContainersListHasBeenObeyedAlready) {
  const auto with = [](const std::string& list) {
    VisibleVariables variables;
    variables.nvidia = list;
    return hidden(machine(), variables).size();
  };
  EXPECT_EQ(with("all"), 0U);
  EXPECT_EQ(with("void"), 0U);
  EXPECT_EQ(with("none"), 3U);
  EXPECT_EQ(with("1"), 2U);
  EXPECT_EQ(with("GPU-ab"), 2U);
  EXPECT_EQ(with("3,5,7"), 0U);  // the host's numbers of the three that are left
}

TEST(VisibleDevices, HipCountsAmongWhatRocrLeft) {
  const std::vector<DeviceInfo> devices = {gpu(0, "a0", "0000:01:00.0", "MI300X", "AMD"),
                                           gpu(1, "a1", "0000:02:00.0", "MI300X", "AMD"),
                                           gpu(2, "a2", "0000:03:00.0", "MI300X", "AMD")};
  VisibleVariables variables;
  variables.rocr = "1,2";
  variables.hip = "1";
  EXPECT_THAT(visible_devices(devices, variables).ids, ElementsAre("gpu:a2"));
  variables.hip.reset();
  EXPECT_THAT(visible_devices(devices, variables).ids, ElementsAre("gpu:a1", "gpu:a2"));
  variables.cuda = "0";  // ROCm takes it where HIP's own is not set
  EXPECT_THAT(visible_devices(devices, variables).ids, ElementsAre("gpu:a1"));
}

TEST(Selection, AKindIsWhatTheJobMaySeeAndAnIdIsObeyed) {
  EXPECT_THAT(select({"gpu"}, cuda("1"))->devices, ElementsAre("gpu:GPU-8f2d0000-2222"));
  EXPECT_THAT(select({"0"}, cuda("1"))->devices, ElementsAre("gpu:GPU-8f2c0000-1111"));
  EXPECT_EQ(select({"all"}, cuda("1"))->devices.size(), 4U);
  EXPECT_THAT(select({}, cuda("1"))->devices, ElementsAre("gpu:GPU-8f2d0000-2222", "cpu:0"));
  const auto all_hidden = select({"gpu"}, cuda(""));
  ASSERT_FALSE(all_hidden);
  EXPECT_THAT(all_hidden.error().message, HasSubstr("hidden"));
}

class StillSource final : public Source {
 public:
  explicit StillSource(const std::string& id) { info_.id = id; }
  const SourceInfo& info() const noexcept override { return info_; }
  Reading read() noexcept override { return {ErrorCode::kOk, 1}; }

 private:
  SourceInfo info_;
};

class StillDevice final : public Device {
 public:
  StillDevice(DeviceInfo info, const std::vector<std::string>& sources) : info_(std::move(info)) {
    for (const std::string& id : sources) sources_.push_back(std::make_unique<StillSource>(id));
  }
  const DeviceInfo& info() const override { return info_; }
  std::vector<Source*> sources() override {
    std::vector<Source*> out;
    for (const auto& source : sources_) out.push_back(source.get());
    return out;
  }

 private:
  DeviceInfo info_;
  std::vector<std::unique_ptr<StillSource>> sources_;
};

TEST(ChooseSources, TakesDevicesAndSingleSources) {
  Inventory inventory;
  for (const DeviceInfo& info : machine()) {
    const std::string other = info.id == "cpu:0" ? "cpu:0/package" : info.id;
    inventory.devices.push_back(
        std::make_unique<StillDevice>(info, std::vector<std::string>{other, info.id + "/more"}));
  }
  EXPECT_EQ(choose_sources(inventory, {}, {})->ids.size(), 8U);
  EXPECT_THAT(choose_sources(inventory, {"cpu:0/package"}, {})->ids, ElementsAre("cpu:0/package"));
  EXPECT_THAT(choose_sources(inventory, {"gpu:GPU-ab000000-3333"}, {})->ids,
              ElementsAre("gpu:GPU-ab000000-3333", "gpu:GPU-ab000000-3333/more"));
  const auto mixed = choose_sources(inventory, {"GPU-ab", "cpu:0/more"}, {});
  ASSERT_TRUE(mixed);
  EXPECT_THAT(mixed->devices, ElementsAre("gpu:GPU-ab000000-3333", "cpu:0"));
  EXPECT_THAT(choose_sources(inventory, {}, cuda("0"))->ids,
              ElementsAre("gpu:GPU-8f2c0000-1111", "gpu:GPU-8f2c0000-1111/more", "cpu:0/package",
                          "cpu:0/more"));
  EXPECT_FALSE(choose_sources(inventory, {"cpu:0/none"}, {}));
  EXPECT_EQ(choose_sources(Inventory{}, {}, {}).error().code, ErrorCode::kUnavailable);
}

TEST(ShortWords, AreNumbersWhereTheyNameOneGpu) {
  EXPECT_THAT(short_words(machine()), ElementsAre("gpu:0", "gpu:1", "gpu:2", "cpu:0"));
  // Two vendors count from 0 each.
  EXPECT_THAT(short_words({gpu(0, "GPU-1", ""), gpu(1, "GPU-2", ""), gpu(0, "x", "", "MI", "AMD")}),
              ElementsAre("gpu:GPU-1", "gpu:1", "gpu:x"));
}
}  // namespace
}  // namespace perjoule
