#include "base/xz.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace perjoule {
namespace {

// "hello, joule\n" as `xz --check=crc32` packs it.
const unsigned char kPacked[] = {
    0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde, 0x36, 0x02, 0x00,
    0x21, 0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00, 0x0c, 0x68,
    0x65, 0x6c, 0x6c, 0x6f, 0x2c, 0x20, 0x6a, 0x6f, 0x75, 0x6c, 0x65, 0x0a, 0x00, 0x00,
    0x00, 0x00, 0xee, 0x6c, 0xa0, 0xcf, 0x00, 0x01, 0x21, 0x0d, 0x75, 0xdc, 0xa8, 0xd2,
    0x90, 0x42, 0x99, 0x0d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x59, 0x5a};

class XzTest : public testing::Test {
 protected:
  std::string write(const std::string& bytes) {
    const std::string path = testing::TempDir() + "xz_test_file-" + std::to_string(getpid());
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static std::string packed() { return {reinterpret_cast<const char*>(kPacked), sizeof kPacked}; }
};

TEST_F(XzTest, UnpacksStreamsAndLeavesPlainTextAlone) {
  EXPECT_EQ(*read_maybe_xz(write(packed())), "hello, joule\n");
  EXPECT_EQ(*read_maybe_xz(write(packed() + packed())), "hello, joule\nhello, joule\n");
  EXPECT_EQ(*read_maybe_xz(write("plain\n")), "plain\n");
  EXPECT_EQ(*read_maybe_xz(write("")), "");
}

TEST_F(XzTest, DamageAndTruncationAreToldFromText) {
  for (std::size_t size = 6; size < packed().size(); ++size) {
    const auto text = read_maybe_xz(write(packed().substr(0, size)));
    ASSERT_FALSE(text) << size;
    EXPECT_EQ(text.error().code, ErrorCode::kDataLoss);
  }
  std::string damaged = packed();
  damaged[28] ^= 1;
  EXPECT_FALSE(read_maybe_xz(write(damaged)));
  EXPECT_FALSE(read_maybe_xz("/nonexistent/file.xz"));
}

}  // namespace
}  // namespace perjoule
