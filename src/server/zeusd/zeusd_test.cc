// Its routes without a socket, as Zeus's clients ask them.
#include "server/zeusd/zeusd.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/http/test_exchange.h"
#include "server/zeusd/fake_node.h"

namespace perjoule {
namespace {

class ZeusdTest : public testing::Test {
 protected:
  void SetUp() override {
    auto zeusd = Zeusd::start(
        *node_.node, &book_,
        std::make_shared<const Gate>(GateRules{
            .local = {.users = {{1001, Role::kControl}}, .others = Role::kRead}, .own_uid = 900}),
        clock_, {.version = "1"});
    ASSERT_TRUE(zeusd) << zeusd.error().text();
    zeusd_ = std::move(*zeusd);
  }
  std::shared_ptr<TestExchange> ask(const std::string& method, const std::string& target,
                                    std::int64_t pid = ::getpid(), std::uint32_t uid = 1001) {
    auto exchange = std::make_shared<TestExchange>();
    zeusd_->router().handle(
        {.method = method,
         .target = target,
         .peer = {.listener = "local", .process = HttpPeer::Process{pid, uid, 7000}}},
        exchange);
    return exchange;
  }
  int set(const std::string& words, std::int64_t pid = ::getpid()) {
    return ask("POST", "/gpu/" + words + "&block=true", pid)->status();
  }
  std::string error_of(const std::string& words, const std::string& gpu = "0") {
    const Json json = ask("POST", "/gpu/" + words + "&block=true")->json();
    const Json* const errors = json.find("errors");
    return errors == nullptr ? "" : errors->string(gpu).value_or("");
  }

  VirtualClock clock_{Instant{1'000'000'000}};
  FakeNode node_{clock_};
  TempTree journal_;
  JournalHand hand_{node_.node->machine(), journal_.path()};
  LeaseBook book_{hand_, clock_, false};
  std::unique_ptr<Zeusd> zeusd_;
};

TEST_F(ZeusdTest, TellsWhatThereIsAndWhoAsks) {
  const Json found = ask("GET", "/discover")->json();
  EXPECT_EQ(found.find("gpu_ids")->dump(), "[0,1]");
  EXPECT_EQ(found.find("cpu_ids")->dump(), "[0,1]");
  EXPECT_EQ(found.find("dram_available")->dump(), "[true,false]");
  EXPECT_EQ(found.find("enabled_api_groups")->dump(), R"(["gpu-control","gpu-read","cpu-read"])");
  const Json& gpu = (*found.find("gpus")->as_array())[1];
  EXPECT_EQ(
      gpu.dump(),
      R"({"id":1,"name":"made up","pci_address":"0000:01:00.0","cumulative_energy_available":true})");
  EXPECT_EQ(ask("GET", "/discover", 1, 5)->json().find("enabled_api_groups")->dump(),
            R"(["gpu-read","cpu-read"])");
  EXPECT_EQ(ask("GET", "/time")->json().integer("timestamp_ms"), clock_.unix_ns() / 1'000'000);
  EXPECT_EQ(ask("GET", "/auth/whoami")->json().string("sub"), "user:1001");
}

TEST_F(ZeusdTest, EnergyMissesNoWrap) {
  const auto energy = [&] {
    return *ask("GET", "/gpu/get_cumulative_energy?gpu_ids=0")
                ->json()
                .find("0")
                ->integer("energy_mj");
  };
  const std::int64_t before = energy();
  for (int i = 0; i < 10; ++i) {
    clock_.advance(Seconds(10'000));
    (void)energy();
  }
  EXPECT_NEAR(static_cast<double>(energy() - before), 300e3 * 100e3, 2);
  const Json all = ask("GET", "/gpu/get_cumulative_energy")->json();
  EXPECT_EQ(all.as_object()->size(), 2U);
  const Json cpus = ask("GET", "/cpu/get_cumulative_energy?cpu=true&dram=true")->json();
  EXPECT_NEAR(static_cast<double>(*cpus.find("0")->integer("cpu_energy_uj")), 80e6 * 100e3, 1e6);
  EXPECT_NEAR(static_cast<double>(*cpus.find("0")->integer("dram_energy_uj")), 10e6 * 100e3, 1e6);
  EXPECT_TRUE(cpus.find("1")->find("dram_energy_uj")->is_null());
  const Json no_cpu =
      ask("GET", "/cpu/get_cumulative_energy?cpu=false&dram=true&cpu_ids=0")->json();
  EXPECT_TRUE(no_cpu.find("0")->find("cpu_energy_uj")->is_null());
}

TEST_F(ZeusdTest, PowerIsInMilliwatts) {
  const Json gpus = ask("GET", "/gpu/get_power")->json();
  EXPECT_EQ(gpus.find("power_mw")->dump(), R"({"0":300000,"1":200000})");
  const Json cpus = ask("GET", "/cpu/get_power")->json();
  EXPECT_EQ(cpus.find("power_mw")->dump(),
            R"({"0":{"cpu_mw":80000,"dram_mw":10000},"1":{"cpu_mw":50000,"dram_mw":null}})");
}

TEST_F(ZeusdTest, WhatIsAskedWronglyIsRefused) {
  for (const char* const target :
       {"/gpu/get_power?gpus=0", "/gpu/get_power?gpu_ids=", "/gpu/get_power?gpu_ids=a",
        "/gpu/get_power?gpu_ids=0,,1", "/gpu/get_power?gpu_ids=-1", "/gpu/get_power?gpu_ids=9",
        "/gpu/stream_power?gpu_ids=9", "/cpu/get_cumulative_energy?cpu=true",
        "/cpu/get_cumulative_energy?cpu=1&dram=true", "/cpu/get_power?cpu_ids=4",
        "/gpu/get_power_limit?gpu_ids=1", "/gpu/get_persistence_mode?gpu_ids=1"}) {
    EXPECT_EQ(ask("GET", target)->status(), 400) << target;
  }
  for (const char* const words :
       {"set_power_limit?gpu_ids=0", "set_power_limit?power_limit_mw=300000",
        "set_power_limit?gpu_ids=0&power_limit_mw=99999",
        "set_power_limit?gpu_ids=0&power_limit_mw=700001",
        "set_power_limit?gpu_ids=0&power_limit_mw=-1",
        "set_power_limit?gpu_ids=0&power_limit_mw=3e5",
        "set_power_limit?gpu_ids=0,9&power_limit_mw=300000",
        "set_power_limit?gpu_ids=1&power_limit_mw=300000",
        "set_power_limit?gpu_ids=0&power_limit_mw=300000&fast=true",
        "set_gpu_locked_clocks?gpu_ids=0&min_clock_mhz=0&max_clock_mhz=1410",
        "set_gpu_locked_clocks?gpu_ids=0&min_clock_mhz=210", "reset_gpu_locked_clocks?gpu_ids=1",
        "set_persistence_mode?gpu_ids=0&enabled=false",
        "set_persistence_mode?gpu_ids=1&enabled=true"}) {
    EXPECT_EQ(set(words), 400) << words;
  }
  EXPECT_EQ(ask("POST", "/gpu/set_power_limit?gpu_ids=0&power_limit_mw=300000&block=yes")->status(),
            400);
  EXPECT_EQ(*node_.limit->get(), "700 W") << "none of it was done";
  EXPECT_NE(error_of("set_power_limit?gpu_ids=9&power_limit_mw=300000", "9").find("there are 0, 1"),
            std::string::npos);
  EXPECT_EQ(
      ask("POST", "/gpu/set_power_limit?gpu_ids=0&power_limit_mw=300000&block=true", ::getpid(), 5)
          ->status(),
      403);
  node_.limit->is_forbidden = true;
  EXPECT_EQ(set("set_power_limit?gpu_ids=0&power_limit_mw=300000"), 403) << "the driver says so";
  EXPECT_EQ(ask("GET", "/nothing")->status(), 404);
}

TEST_F(ZeusdTest, ALimitIsHeldAndSetToItsDefaultIsLetGo) {
  ASSERT_EQ(set("set_power_limit?gpu_ids=0&power_limit_mw=300500"), 200);
  EXPECT_EQ(*node_.limit->get(), "300.5 W");
  EXPECT_EQ(
      ask("GET", "/gpu/get_power_limit?gpu_ids=0")->json().find("0")->integer("power_limit_mw"),
      300'500);
  EXPECT_EQ(ask("GET", "/gpu/get_power_limit_constraints?gpu_ids=0")->json().find("0")->dump(),
            R"({"min_power_limit_mw":100000,"max_power_limit_mw":700000})");
  ASSERT_EQ(book_.all().size(), 1U);
  EXPECT_EQ(book_.all()[0].owner, "user:1001's process " + std::to_string(::getpid()));
  ASSERT_EQ(set("set_power_limit?gpu_ids=0&power_limit_mw=700000"), 200);
  EXPECT_EQ(*node_.limit->get(), "700 W");
  EXPECT_TRUE(book_.all().empty());
  // Found otherwise than the default, it is held at the default.
  ASSERT_TRUE(node_.limit->set("500 W"));
  ASSERT_EQ(set("set_power_limit?gpu_ids=0&power_limit_mw=300000"), 200);
  ASSERT_EQ(set("set_power_limit?gpu_ids=0&power_limit_mw=700000"), 200);
  EXPECT_EQ(*node_.limit->get(), "700 W");
  EXPECT_EQ(book_.all().size(), 1U);
}

TEST_F(ZeusdTest, ClocksAreLockedAndReset) {
  ASSERT_EQ(set("set_gpu_locked_clocks?gpu_ids=0&min_clock_mhz=1005&max_clock_mhz=1410"), 200);
  EXPECT_EQ(*node_.core->get(), "1005-1410 MHz");
  ASSERT_EQ(set("set_mem_locked_clocks?gpu_ids=0&min_clock_mhz=1593&max_clock_mhz=1593"), 200);
  EXPECT_EQ(*node_.memory->get(), "1593 MHz");
  ASSERT_EQ(set("reset_mem_locked_clocks?gpu_ids=0"), 200);
  EXPECT_EQ(*node_.memory->get(), "unlocked");
  ASSERT_EQ(set("reset_locked_clocks?gpu_ids=0,1"), 200);
  EXPECT_EQ(*node_.core->get(), "unlocked");
  EXPECT_EQ(set("set_persistence_mode?gpu_ids=0&enabled=true"), 200) << "it is so already";
  EXPECT_EQ(ask("GET", "/gpu/get_persistence_mode?gpu_ids=0")->json().dump(),
            R"({"0":{"enabled":true}})");
}

TEST_F(ZeusdTest, TwoClientsDoNotOverwriteEachOther) {
  const pid_t other = ::fork();
  if (other == 0) {
    for (;;) ::pause();
  }
  ASSERT_EQ(set("set_power_limit?gpu_ids=0&power_limit_mw=400000", other), 200);
  EXPECT_EQ(set("set_power_limit?gpu_ids=0&power_limit_mw=300000"), 409);
  EXPECT_NE(error_of("set_power_limit?gpu_ids=0&power_limit_mw=300000")
                .find("process " + std::to_string(other)),
            std::string::npos);
  EXPECT_EQ(*node_.limit->get(), "400 W");
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  zeusd_->held()->look();
  EXPECT_EQ(*node_.limit->get(), "700 W");
  EXPECT_EQ(set("set_power_limit?gpu_ids=0&power_limit_mw=300000"), 200);
}

TEST_F(ZeusdTest, WithoutBlockItAnswersAtOnce) {
  const auto answer =
      ask("POST", "/gpu/set_power_limit?gpu_ids=0&power_limit_mw=350000&block=false");
  EXPECT_EQ(answer->status(), 200);
  EXPECT_EQ(answer->wait(), "");
  EXPECT_EQ(ask("POST", "/gpu/set_power_limit?gpu_ids=0&power_limit_mw=1&block=false")->status(),
            200);
  // What waits behind is done after it.
  ASSERT_EQ(set("set_gpu_locked_clocks?gpu_ids=0&min_clock_mhz=1005&max_clock_mhz=1005"), 200);
  EXPECT_EQ(*node_.limit->get(), "350 W");
  EXPECT_EQ(zeusd_->failed_unheard(), 1U);
}

TEST_F(ZeusdTest, ItsDescriptionHasAllRoutes) {
  const Json description = ask("GET", "/openapi.json")->json();
  EXPECT_EQ(description.find("paths")->as_object()->size(), 20U);
}

}  // namespace
}  // namespace perjoule
