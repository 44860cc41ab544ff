#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace perjoule {
namespace {

Result<int> parse(bool good) {
  if (good) return 3;
  return Error::invalid_argument("not a number: 'x'", "write digits");
}

Result<int> twice(bool good) {
  PJ_TRY(const int value, parse(good));
  return 2 * value;
}

TEST(Result, TryPassesValueAndErrorOn) {
  EXPECT_EQ(*twice(true), 6);
  const Result<int> failed = twice(false);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(failed.error().text(), "not a number: 'x'; write digits");
}

TEST(Result, ContextGoesBeforeTheMessage) {
  const tl::unexpected<Error> wrapped = fail(parse(false), "runs.csv");
  EXPECT_EQ(wrapped.value().message, "runs.csv: not a number: 'x'");
}

TEST(Result, ErrnoBecomesTheMatchingCode) {
  EXPECT_EQ(code_of_errno(EACCES), ErrorCode::kPermissionDenied);
  EXPECT_EQ(code_of_errno(ENOENT), ErrorCode::kNotFound);
  EXPECT_EQ(code_of_errno(ENOSPC), ErrorCode::kDataLoss);
  EXPECT_EQ(Error::from_errno(EACCES, "/sys/x").value().message, "/sys/x: Permission denied");
}
}  // namespace
}  // namespace perjoule
