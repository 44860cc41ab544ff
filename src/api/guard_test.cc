#include "api/guard.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace perjoule {
namespace {

TEST(Guard, ResultsAndExceptionsBecomeStatusAndWords) {
  EXPECT_EQ(guard([]() -> Outcome { return Error::not_found("no such thing", "look elsewhere"); }),
            PJ_NOT_FOUND);
  EXPECT_EQ(last_error(), "no such thing; look elsewhere");
  EXPECT_EQ(guard([]() -> Outcome { throw std::runtime_error("oops"); }), PJ_INTERNAL);
  EXPECT_EQ(last_error(), "oops");
  EXPECT_EQ(guard([]() -> Outcome { throw 3; }), PJ_INTERNAL);
  EXPECT_EQ(guard([]() -> Outcome { throw std::bad_alloc(); }), PJ_INTERNAL);
  EXPECT_EQ(guard([]() -> Outcome { return {}; }), PJ_OK);
  EXPECT_EQ(last_error(), "");
}
}  // namespace
}  // namespace perjoule
