#include "cli/fleet_control_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"

namespace perjoule::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kServer = R"(
[[server]]
name = "n1"
[[server.instance]]
url = "http://n1:8000"
gpus = ["0", "1"]
tp = 2
)";

Result<FleetControlFile> read(const std::string& fleet, const std::string& servers = kServer) {
  return read_fleet_control("[fleet]\nprofile = \"p.csv\"\n" + fleet + "\n" + servers, "f.toml");
}
void refuses(const Result<FleetControlFile>& file, const std::string& words) {
  ASSERT_FALSE(file) << words;
  EXPECT_THAT(file.error().text(), HasSubstr(words));
}

TEST(FleetControlFile, TakesAllServersOfNoClassAsOnePool) {
  const auto file = read("policy = \"Scale-Freq\"\nevery = \"2s\"\nmargin = 1.5");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->policy.name, "scale-freq");
  EXPECT_FALSE(file->policy.has_pools);
  EXPECT_EQ(file->policy.clock_period, Seconds(2));
  EXPECT_EQ(file->policy.margin, 1.5);
  EXPECT_EQ((*file->levels)[0].first_token, Seconds(2));
  ASSERT_EQ(file->servers.size(), 1u);
  EXPECT_EQ(file->servers[0].instances[0].name, "n1-0");
  EXPECT_EQ(file->servers[0].instances[0].port, 8000);
  EXPECT_EQ(file->sources[0][0].series, "n1:8000");
  EXPECT_EQ(file->gpus_per_server, 2);
  EXPECT_FALSE(file->leaves_servers);
}

TEST(FleetControlFile, HasPoolsOfClassesAndTheirLevels) {
  const auto file = read("policy = \"scale-freq\"\nlevels = { MM = { ttft = \"1s\" } }",
                         "[[server]]\nname = \"n\"\npool = \"mm\"\n[[server.instance]]\n"
                         "url = \"n:1\"\ngpus = \"0\"\n");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_TRUE(file->policy.has_pools);
  EXPECT_EQ(file->servers[0].pool, 4u);
  EXPECT_EQ(file->servers[0].pool_name, "MM");
  EXPECT_EQ((*file->levels)[4].first_token, Seconds(1));
  EXPECT_EQ((*file->levels)[4].between_tokens, Seconds(0.1));
  EXPECT_EQ((*file->levels)[0].first_token, Seconds(0.25));
}

TEST(FleetControlFile, DividesServersByWhoSharesAGpu) {
  const std::string servers = R"(
[hooks]
preset = "systemd"
stop = "halt {instance}"
[[server]]
name = "n"
[[server.instance]]
name = "both"
url = "n:1"
gpus = ["0", "1"]
tp = 2
[[server.instance]]
name = "a"
url = "n:2"
gpus = ["0"]
[[server.instance]]
name = "b"
url = "n:3"
gpus = ["1"]
)";
  const auto file = read("policy = \"all-knobs\"", servers);
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_THAT(file->servers[0].division, ElementsAre(0));
  EXPECT_THAT(file->degrees, ElementsAre(std::pair(1, 1), std::pair(2, 1)));
  EXPECT_EQ(file->servers[0].instances[0].layout, 1u);
  EXPECT_EQ(file->servers[0].instances[2].layout, 0u);
  EXPECT_EQ(file->commands.start, "systemctl start {instance}.service");
  EXPECT_EQ(file->commands.stop, "halt {instance}");
  std::string named = servers;
  named.replace(named.find("name = \"n\""), 10, "name = \"n\"\nrunning = [\"a\", \"b\"]");
  EXPECT_THAT(read("policy = \"all-knobs\"", named)->servers[0].division, ElementsAre(1, 2));
  named.replace(named.find("\"b\""), 3, "\"both\"");
  refuses(read("policy = \"all-knobs\"", named), "share a GPU");
  named.replace(named.find("\"both\"]"), 7, "\"c\"]");
  refuses(read("policy = \"all-knobs\"", named), "has not got");
}

TEST(FleetControlFile, TakesTheExample) {
  const auto text = read_file(PERJOULE_SOURCE_DIR "/examples/fleet/fleet.toml");
  ASSERT_TRUE(text);
  const auto file = read_fleet_control(*text, "fleet.toml");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_THAT(file->servers[0].division, ElementsAre(0));
  EXPECT_EQ(file->gpus_per_server, 8);
}

TEST(FleetControlFile, NamesLineAndKey) {
  refuses(read("policy = \"scale-freq\"\nspeed = 1"), "f.toml:4: no key of [fleet]: 'speed'");
  refuses(read(""), "needs a policy");
  refuses(read("policy = \"scale-freq\"\nattainment = 2"), "f.toml:4");
  refuses(read("policy = \"scale-freq\"\nat-end = \"stop\""), "as-found or leave");
  refuses(read("policy = \"scale-freq\"\nlevels = { XX = {} }"), "'XX'");
  refuses(read("policy = \"scale-freq\"\nidle-gpu-power = \"cold\""), "a power");
  const auto wrong = [](const std::string& from, const std::string& to) {
    std::string servers = kServer;
    servers.replace(servers.find(from), from.size(), to);
    return read("policy = \"scale-freq\"", servers);
  };
  refuses(wrong("\"n1\"", "\"n 1; rm\""), "letters, digits");
  refuses(wrong("\"1\"]", "\"0\"]"), "needs 2 GPU of its own");
  refuses(wrong("\"1\"]", "\"$(x)\"]"), "no GPU");
  refuses(wrong("tp = 2", "tp = 0"), "from 1");
  refuses(wrong("url = \"http://n1:8000\"", "url = \"ftp://n1\""), "f.toml:");
  refuses(wrong("url = \"http://n1:8000\"\n", ""), "needs the url");
  refuses(wrong("name = \"n1\"", "name = \"n1\"\ngpus = [\"0\"]"), "GPU 1 is none of server n1");
}

TEST(FleetControlFile, RefusesServersThatDoNotFitTogether) {
  const std::string small =
      "[[server]]\nname = \"n2\"\n[[server.instance]]\nurl = \"n2:1\"\ngpus = [\"0\"]\n";
  refuses(read("policy = \"scale-freq\"", kServer + small), "equally many");
  refuses(read("policy = \"single-pool\"",
               "[[server]]\nname = \"n\"\npool = \"MM\"\n[[server.instance]]\nurl = \"n:1\"\n"
               "gpus = \"0\"\n"),
          "has one pool");
  refuses(read("policy = \"scale-freq\"",
               "[[server]]\nname = \"n\"\npool = \"MM\"\n[[server.instance]]\nurl = \"n:1\"\n"
               "gpus = \"0\"\n" +
                   small),
          "mixed");
}

}  // namespace
}  // namespace perjoule::cli
