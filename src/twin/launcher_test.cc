#include "twin/launcher.h"

#include <gtest/gtest.h>

namespace perjoule::twin {
namespace {

LaunchOptions options(std::vector<std::string> command) {
  return {
      .gpus = {"h100:2"}, .command = std::move(command), .standin_folder = PERJOULE_STANDIN_DIR};
}

TEST(Launcher, ReadsGpuLists) {
  const auto keys = parse_gpus({"h100:2", "a100"});
  ASSERT_TRUE(keys);
  EXPECT_EQ(*keys, (std::vector<std::string>{"h100", "h100", "a100"}));
  for (const char* word : {"h100:0", "h100:x", "h100:", "h100:17"})
    EXPECT_FALSE(parse_gpus({word}));
}

TEST(Launcher, PassesStatusAndSignalOn) {
  EXPECT_EQ(launch(options({"sh", "-c", "exit 7"}))->status, 7);
  EXPECT_EQ(launch(options({"sh", "-c", "kill -KILL $$"}))->status, 128 + 9);
  EXPECT_FALSE(launch(options({"/no/such/program"})));
}

TEST(Launcher, GivesTheCommandItsMachineAndCleansUp) {
  LaunchOptions o = options({"sh", "-c",
                             "test -f \"$PERJOULE_TWIN\" && "
                             "case \"$LD_LIBRARY_PATH\" in " PERJOULE_STANDIN_DIR
                             "*) exit 0;; *) exit 1;; esac"});
  EXPECT_EQ(launch(o)->status, 0);
  o.command = {"sh", "-c", "exec sh -c 'test -d ${PERJOULE_TWIN%/*}'"};
  o.keep = true;
  const auto kept = launch(o);
  ASSERT_TRUE(kept);
  ASSERT_FALSE(kept->folder.empty());
  o.keep = false;
  o.command = {"rm", "-r", kept->folder};
  EXPECT_EQ(launch(o)->status, 0);
}

// Two machines at a time have devices of the same names: turned knobs are not mixed up.
TEST(Launcher, KnobsAreJournalledInTheMachinesOwnFolder) {
  const LaunchOptions o =
      options({"sh", "-c", "test \"${PERJOULE_KNOBS%/*}\" = \"${PERJOULE_TWIN%/*}\""});
  EXPECT_EQ(launch(o)->status, 0);
}

TEST(Launcher, LaysAPowercapTree) {
  LaunchOptions o = options(
      {"sh", "-c",
       "test \"$(cat $PERJOULE_SYSFS_ROOT/class/powercap/intel-rapl:0/name)\" = package-0"});
  o.powercap = true;
  EXPECT_EQ(launch(o)->status, 0);
}

TEST(Launcher, SignalsReachTheCommand) {
  // The command signals us, its parent; we pass it on to the command.
  const auto end = launch(
      options({"sh", "-c", "trap 'exit 5' TERM; kill -TERM $PPID; while :; do sleep 0.01; done"}));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status, 5);
}

TEST(Launcher, MissingSymbolsComeFromAPrivateCopy) {
  LaunchOptions o = options(
      {"sh", "-c", "grep -q nvmlDeviceGetPowerUsage ${LD_LIBRARY_PATH%%:*}/libnvidia-ml.so.1"});
  EXPECT_EQ(launch(o)->status, 0);
  o.faults = {*parse_fault("missing:call=nvmlDeviceGetPowerUsage")};
  o.command[2] = "grep -q '~vmlDeviceGetPowerUsage' ${LD_LIBRARY_PATH%%:*}/libnvidia-ml.so.1";
  EXPECT_EQ(launch(o)->status, 0);
  o.faults = {*parse_fault("missing:call=nvmlFly")};
  EXPECT_FALSE(launch(o));
}

TEST(Launcher, RefusesAFaultThatTheMachineCannotHave) {
  LaunchOptions o = options({"true"});
  o.faults = {*parse_fault("lost:gpu=5,at=1s")};
  EXPECT_FALSE(launch(o));
}

}  // namespace
}  // namespace perjoule::twin
