// A real Prometheus server (Debian's package) that scrapes a page as dcgm-exporter's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "net/test_http_server.h"
#include "serving/engine/prometheus_power.h"

namespace perjoule {
namespace {

constexpr double kWatts = 123;

/// A port that nobody has now.
std::uint16_t free_port() {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

class PrometheusLive : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    const std::string target = exporter_.url().substr(std::string("http://").size());
    ASSERT_TRUE(write_file_atomically(
        folder_ + "/prometheus.yml",
        "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
        "scrape_configs:\n- job_name: dcgm\n  static_configs:\n  - targets: ['" +
            target + "']\n"));
    const std::string address = "127.0.0.1:" + std::to_string(free_port());
    auto started = ChildProcess::start(
        {.arguments = {"prometheus", "--config.file=" + folder_ + "/prometheus.yml",
                       "--storage.tsdb.path=" + folder_ + "/data",
                       "--web.listen-address=" + address},
         .silence_output = true});
    if (!started && started.error().code == ErrorCode::kNotFound)
      GTEST_SKIP() << "needs Debian's package prometheus";
    ASSERT_TRUE(started) << started.error().text();
    process_.emplace(std::move(*started));
    server_.emplace(PrometheusOptions{.url = HttpUrl::parse(address).value()}, clock_);
  }
  void TearDown() override {
    if (process_) {
      ::kill(process_->pid(), SIGKILL);
      (void)process_->wait();
    }
    std::filesystem::remove_all(folder_);
  }

  Seconds now() const { return Seconds(static_cast<double>(clock_.unix_ns()) * 1e-9); }
  /// Of the counter, once there are so many.
  std::vector<PromPoint> samples(std::size_t count) {
    for (int tries = 0; tries < 1200; ++tries) {
      const auto answer = server_->instant("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION[1h]", now());
      if (answer && !answer->series.empty() && answer->series[0].points.size() >= count)
        return answer->series[0].points;
      clock_.sleep_until(clock_.now() + Seconds(0.05));
    }
    return {};
  }

  const std::string folder_ =
      testing::TempDir() + "perjoule-prometheus-" + std::to_string(::getpid());
  RealClock clock_;
  const Seconds begin_ = now();
  TestHttpServer exporter_{[this](TestPeer& peer) {
    while (peer.read_request()) {
      const std::string labels = "{gpu=\"0\",UUID=\"GPU-1\",Hostname=\"n1\"} ";
      const double joules = 5000 + kWatts * (now() - begin_).value();
      const std::string page =
          "# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\n"
          "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" +
          labels + exact(joules * 1e3) +
          "\n# TYPE DCGM_FI_DEV_POWER_USAGE gauge\n"
          "DCGM_FI_DEV_POWER_USAGE" +
          labels + exact(kWatts) + "\n";
      peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: " +
                std::to_string(page.size()) + "\r\n\r\n" + page);
    }
  }};
  std::optional<ChildProcess> process_;
  std::optional<Prometheus> server_;
};

TEST_F(PrometheusLive, EnergyPowerAndRefusals) {
  const auto points = samples(5);
  ASSERT_GE(points.size(), 5U) << "nothing was scraped";
  RemoteWindow window{.selector = "Hostname=\"n1\"",
                      .from = points[1].at + Seconds(0.25),
                      .until = points[3].at + Seconds(0.5)};
  window.collected_every = Seconds(0);
  const auto drawn = remote_gpu_energy(*server_, window);
  ASSERT_TRUE(drawn) << drawn.error().text();
  ASSERT_EQ(drawn->gpus.size(), 1U);
  const Energy& energy = drawn->gpus[0].energy;
  const Joules truth = Watts(kWatts) * (window.until - window.from);
  EXPECT_FALSE(energy.lower_bound);
  EXPECT_LE(abs(energy.joules - truth), energy.expanded_uncertainty());
  EXPECT_LT(energy.expanded_uncertainty(), truth);
  EXPECT_EQ(drawn->gpus[0].uuid, "GPU-1");
  EXPECT_EQ(drawn->gpus[0].host, "n1");
  EXPECT_TRUE(drawn->notes.empty());

  const auto course =
      server_->range("sum(DCGM_FI_DEV_POWER_USAGE)", points[1].at, points[3].at, Seconds(1));
  ASSERT_TRUE(course) << course.error().text();
  ASSERT_EQ(course->series.size(), 1U);
  EXPECT_GE(course->series[0].points.size(), 2U);
  for (const PromPoint& point : course->series[0].points) EXPECT_EQ(point.value, kWatts);

  window.selector = "Hostname=\"n2\"";
  const auto nobody = remote_gpu_energy(*server_, window);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::kNotFound);
  window.selector = "Hostname=";
  const auto refused = remote_gpu_energy(*server_, window);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().text(), testing::HasSubstr("parse error"));
}

}  // namespace
}  // namespace perjoule
