#include "server/http/token_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

namespace perjoule {
namespace {

class TokenFileTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "tokens-" + std::to_string(::getpid()) + "-" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    ::unlink(path_.c_str());
  }
  void TearDown() override { ::unlink(path_.c_str()); }
  std::string path_;
};

TEST_F(TokenFileTest, ATokenIsMadeShownOnceAndTakenBack) {
  const auto token = add_token(path_, "grafana", Role::kRead, 0);
  ASSERT_TRUE(token) << token.error().text();
  EXPECT_EQ(token->size(), 67U);
  EXPECT_EQ(token->rfind("pj_", 0), 0U);
  EXPECT_EQ(read_file(path_)->find(token->substr(3)), std::string::npos) << "it is not kept";
  const auto other = add_token(path_, "ops", Role::kAdmin, 1'900'000'000);
  ASSERT_TRUE(other);
  EXPECT_NE(*other, *token);
  const auto records = read_tokens(path_);
  ASSERT_TRUE(records) << records.error().text();
  ASSERT_EQ(records->size(), 2U);
  EXPECT_EQ((*records)[0].sha256, *sha256_hex(*token));
  EXPECT_EQ((*records)[0].expires_unix, 0);
  EXPECT_EQ((*records)[1].role, Role::kAdmin);
  EXPECT_EQ((*records)[1].expires_unix, 1'900'000'000);
  EXPECT_EQ(add_token(path_, "ops", Role::kRead, 0).error().code, ErrorCode::kConflict);
  ASSERT_TRUE(remove_token(path_, "grafana"));
  EXPECT_EQ(read_tokens(path_)->size(), 1U);
  EXPECT_EQ(remove_token(path_, "grafana").error().code, ErrorCode::kNotFound);
}

TEST_F(TokenFileTest, TheFileIsItsOwnersAlone) {
  ASSERT_TRUE(add_token(path_, "a", Role::kRead, 0));
  struct stat found {};
  ASSERT_EQ(::stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
  ::chmod(path_.c_str(), 0640);
  EXPECT_TRUE(read_tokens(path_));
  ASSERT_TRUE(add_token(path_, "b", Role::kRead, 0));
  ASSERT_EQ(::stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0640U) << "the daemon's group reads it as before";
  for (const mode_t open : {0644, 0660, 0602}) {
    ::chmod(path_.c_str(), open);
    const auto refused = read_tokens(path_);
    ASSERT_FALSE(refused) << open;
    EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
  }
}

TEST_F(TokenFileTest, WhatIsNoTokenIsRefusedWithItsLine) {
  const std::string good =
      R"({"name":"a","role":"read","sha256":")" + std::string(64, '0') + "\"}\n";
  EXPECT_EQ(parse_tokens(good + "\n", "f")->size(), 1U);
  for (const std::string& bad :
       {std::string("{"), std::string("[]"), std::string(R"({"name":"b","role":"read"})"),
        R"({"name":"b","role":"root","sha256":")" + std::string(64, '0') + "\"}",
        R"({"name":"","role":"read","sha256":")" + std::string(64, '0') + "\"}",
        R"({"name":"b","role":"read","sha256":")" + std::string(64, 'G') + "\"}",
        R"({"name":"b","role":"read","expires_unix":"soon","sha256":")" + std::string(64, '0') +
            "\"}",
        R"({"name":"b","role":"read","expires_unix":-1,"sha256":")" + std::string(64, '0') + "\"}",
        R"({"name":"a","role":"admin","sha256":")" + std::string(64, '1') + "\"}"}) {
    const auto parsed = parse_tokens(good + bad, "tokens");
    ASSERT_FALSE(parsed) << bad;
    EXPECT_NE(parsed.error().message.find("tokens, line 2"), std::string::npos)
        << parsed.error().message;
  }
}

}  // namespace
}  // namespace perjoule
