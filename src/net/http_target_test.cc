#include "net/http_target.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace perjoule {
namespace {

std::vector<std::string> segments(const std::string& text) {
  const auto target = HttpTarget::parse(text);
  return target ? target->segments : std::vector<std::string>{"refused: " + target.error().message};
}

TEST(HttpTargetTest, CutsThePathBeforeItDecodes) {
  EXPECT_EQ(segments("/"), std::vector<std::string>());
  EXPECT_EQ(segments("/runs/a%20b"), (std::vector<std::string>{"runs", "a b"}));
  EXPECT_EQ(segments("/runs/a%2Fb"), (std::vector<std::string>{"runs", "a/b"}));
  EXPECT_EQ(segments("/runs/"), (std::vector<std::string>{"runs", ""}));
  EXPECT_EQ(segments("/a+b"), (std::vector<std::string>{"a+b"}));
}

TEST(HttpTargetTest, ReadsParameters) {
  const auto target = HttpTarget::parse("/x?source=cpu%3A0%2Fpackage&last=3&flag&&word=a+b&last=4");
  ASSERT_TRUE(target) << target.error().text();
  EXPECT_EQ(target->path, "/x");
  EXPECT_EQ(*target->parameter("source"), "cpu:0/package");
  EXPECT_EQ(*target->parameter("last"), "3");
  EXPECT_EQ(*target->parameter("flag"), "");
  EXPECT_EQ(*target->parameter("word"), "a b");
  EXPECT_EQ(target->parameter("other"), nullptr);
  EXPECT_EQ(target->parameters.size(), 5U);
}

TEST(HttpTargetTest, RefusesWhatLeadsElsewhere) {
  for (const char* const text : {"",       "x",         "http://x/",   "*",
                                 "/..",    "/a/../b",   "/a/%2e%2E/b", "/.%2e",
                                 "/a/./b", "/%2e",      "/a%00b",      "/a%0d%0aSet-Cookie:x",
                                 "/a%",    "/a%2",      "/a%zz",       "/a b",
                                 "/a\tb",  "/\xc3\xa4", "/x?=3",       "/x?a=%0a",
                                 "/x?a=%"}) {
    EXPECT_FALSE(HttpTarget::parse(text)) << text;
  }
  EXPECT_FALSE(HttpTarget::parse("/" + std::string(8192, 'a')));
  EXPECT_TRUE(HttpTarget::parse("/...")) << "a name like any other";
}

RC_GTEST_PROP(HttpTargetTest, WhatIsCodedComesBack, (const std::string& text)) {
  std::string printable;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) printable += c;
  }
  RC_PRE(printable != "." && printable != "..");
  const auto target =
      HttpTarget::parse("/x/" + percent_encoded(printable) + "?n=" + percent_encoded(printable));
  RC_ASSERT(target.has_value());
  RC_ASSERT(target->segments.at(1) == printable);
  RC_ASSERT(*target->parameter("n") == printable);
}

}  // namespace
}  // namespace perjoule
