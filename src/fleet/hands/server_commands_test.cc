#include "fleet/hands/server_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perjoule {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

FleetServer server() {
  FleetServer one;
  one.name = "n1";
  one.pool_name = "MM";
  one.instances = {
      {"a", {"0"}, 1, 8000, 0}, {"b", {"1"}, 1, 8001, 0}, {"both", {"0", "1"}, 2, 8002, 1}};
  one.division = {0, 1};
  return one;
}

TEST(ServerCommands, AreRunForEachInstanceThatTheyName) {
  ServerCommands commands;
  commands.start = "run {server} {instance} {gpus} {tp} {pool} {port} {division}";
  EXPECT_THAT(commands_for(commands, ServerDeed::kStart, server(), {}, {0, 1}),
              ElementsAre("run n1 a 0 1 MM 8000 1,1", "run n1 b 1 1 MM 8001 1,1"));
  EXPECT_THAT(commands_for(commands, ServerDeed::kStart, server(), {}, {2}),
              ElementsAre("run n1 both 0,1 2 MM 8002 2"));
  commands.stop = "halt {server}";
  EXPECT_THAT(commands_for(commands, ServerDeed::kStop, server(), {0, 1}, {0, 1}),
              ElementsAre("halt n1"));
  EXPECT_THAT(commands_for(commands, ServerDeed::kDrain, server(), {0, 1}, {0, 1}), IsEmpty());
}

TEST(ServerCommands, DivideByStoppingAndStartingWhereNothingElseIsSaid) {
  ServerCommands commands;
  commands.start = "up {instance}";
  commands.stop = "down {instance}";
  EXPECT_TRUE(can(commands, ServerDeed::kReshard));
  EXPECT_THAT(commands_for(commands, ServerDeed::kReshard, server(), {0, 1}, {2}),
              ElementsAre("down a", "down b", "up both"));
  EXPECT_THAT(commands_for(commands, ServerDeed::kReshard, server(), {0}, {0, 1}),
              ElementsAre("up b"));
  commands.reshard = "divide {server} {division}";
  EXPECT_THAT(commands_for(commands, ServerDeed::kReshard, server(), {2}, {0, 1}),
              ElementsAre("divide n1 1,1"));
  commands = {};
  EXPECT_FALSE(can(commands, ServerDeed::kReshard));
  EXPECT_FALSE(can(commands, ServerDeed::kStart));
}

TEST(ServerCommands, LeaveTheShellsOwnBracesAlone) {
  ServerCommands commands;
  commands.start = "echo ${server} {} {\"a\": {tp}} {A} {1..3} {server";
  ASSERT_TRUE(check_commands(commands));
  EXPECT_THAT(commands_for(commands, ServerDeed::kStart, server(), {}, {2}),
              ElementsAre("echo ${server} {} {\"a\": 2} {A} {1..3} {server"));
  commands.drain = "tell {machine}";
  const auto refused = check_commands(commands);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("{machine}"));
}

TEST(ServerCommands, HavePresets) {
  for (const char* name : {"systemd", "slurm", "kubernetes"}) {
    const auto commands = commands_of_preset(name);
    ASSERT_TRUE(commands) << name;
    EXPECT_TRUE(check_commands(*commands)) << name;
    for (const ServerDeed deed : {ServerDeed::kStart, ServerDeed::kStop, ServerDeed::kReshard})
      EXPECT_TRUE(can(*commands, deed)) << name;
  }
  EXPECT_THAT(commands_for(*commands_of_preset("systemd"), ServerDeed::kStop, server(), {2}, {2}),
              ElementsAre("systemctl stop both.service"));
  EXPECT_EQ(commands_of_preset("nomad").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace perjoule
