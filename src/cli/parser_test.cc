#include "cli/parser.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace perjoule::cli {
namespace {

struct Call {
  int status = -1;
  Arguments seen;
};

Call call(std::vector<const char*> words) {
  Call result;
  Verb verb;
  verb.name = "box open";
  verb.summary = "open a box";
  verb.options = {{"every", "TIME", "period", "1s"},
                  {"force", "", "do it"},
                  {"param", "NAME=V", "x", "", true}};
  verb.positionals = {{"FILE", "what", true, true}};
  verb.takes_command = true;
  verb.instead_of_command = {"every"};
  verb.run = [&result](const Arguments& arguments) -> Result<int> {
    result.seen = arguments;
    return 0;
  };
  words.insert(words.begin(), "perjoule");
  result.status = dispatch({verb}, static_cast<int>(words.size()), words.data());
  return result;
}

TEST(Parser, OptionsDefaultsPositionalsAndCommand) {
  const Call made = call({"box", "open", "--force", "--param", "a=1", "--param", "b=2", "x", "y",
                          "--", "ls", "--every"});
  ASSERT_EQ(made.status, 0);
  EXPECT_TRUE(made.seen.has("force"));
  EXPECT_FALSE(made.seen.has("every"));
  EXPECT_EQ(made.seen.value("every"), "1s");
  EXPECT_DOUBLE_EQ((*made.seen.read("every", parse_seconds))->value(), 1);
  EXPECT_EQ(made.seen.values("param"), (std::vector<std::string>{"a=1", "b=2"}));
  EXPECT_EQ(made.seen.values("FILE"), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(made.seen.command(), (std::vector<std::string>{"ls", "--every"}));
}

TEST(Parser, AVerbThatFindsNoMemoryEndsWithItsOwnFailure) {
  for (const int own_failure : {kMachineCannot, kOwnFailure}) {
    Verb verb;
    verb.name = "box";
    verb.own_failure = own_failure;
    const char* const words[] = {"perjoule", "box"};
    verb.run = [](const Arguments&) -> Result<int> { throw std::bad_alloc(); };
    EXPECT_EQ(dispatch({verb}, 2, words), own_failure);
    verb.run = [](const Arguments&) -> Result<int> { throw std::length_error("too long"); };
    EXPECT_EQ(dispatch({verb}, 2, words), own_failure);
  }
}

TEST(Parser, AListHasNoEmptyItems) {
  const auto listed = [](const char* text) {
    return call({"box", "open", "--param", "z", "--param", text, "x", "--", "ls"})
        .seen.list("param");
  };
  EXPECT_EQ(*listed("a, b"), (std::vector<std::string>{"z", "a", "b"}));
  EXPECT_EQ(*listed(""), std::vector<std::string>{"z"});
  for (const char* text : {"a,", ",a", "a,,b", ","}) {
    ASSERT_FALSE(listed(text)) << text;
    EXPECT_EQ(listed(text).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(listed(text).error().message,
              "--param " + std::string(text) + ": an item of the list is empty");
  }
}

TEST(Parser, TwoPositionalsTakeOneWordEach) {
  Verb verb;
  verb.name = "compare";
  verb.positionals = {{"A", "first"}, {"B", "second"}};
  Arguments seen;
  verb.run = [&seen](const Arguments& arguments) -> Result<int> {
    seen = arguments;
    return 0;
  };
  const char* words[] = {"perjoule", "compare", "x", "y"};
  ASSERT_EQ(dispatch({verb}, 4, words), 0);
  EXPECT_EQ(seen.values("A"), std::vector<std::string>{"x"});
  EXPECT_EQ(seen.values("B"), std::vector<std::string>{"y"});
}

TEST(Parser, WhatIsSetForAllCallsIsGivenButNotTyped) {
  setenv("PERJOULE_BOX_OPEN_EVERY", "3s", 1);
  const Call made = call({"box", "open", "--force", "x"});
  unsetenv("PERJOULE_BOX_OPEN_EVERY");
  ASSERT_EQ(made.status, 0);
  EXPECT_TRUE(made.seen.has("every"));
  EXPECT_FALSE(made.seen.typed("every"));
  EXPECT_TRUE(made.seen.typed("force"));
  EXPECT_FALSE(made.seen.typed("param"));
}

TEST(Parser, UsageErrorsAnswerTwo) {
  EXPECT_EQ(call({"box", "open", "--nonsense", "x", "--", "ls"}).status, kUsage);
  EXPECT_EQ(call({"box", "open", "--", "ls"}).status, kUsage);
  EXPECT_EQ(call({"box", "open", "x"}).status, kUsage);
  EXPECT_EQ(call({"box"}).status, kUsage);
  EXPECT_EQ(call({"cup"}).status, kUsage);
}

TEST(Parser, AnOptionMayStandInForTheCommand) {
  const Call made = call({"box", "open", "--every", "2s", "x"});
  EXPECT_EQ(made.status, 0);
  EXPECT_TRUE(made.seen.command().empty());
}

TEST(Parser, HelpAndVersionAnswerZero) {
  EXPECT_EQ(call({"--version"}).status, 0);
  EXPECT_EQ(call({"box", "open", "--help"}).status, 0);
}

TEST(Parser, ErrorsBecomeStatuses) {
  EXPECT_EQ(status_of(Error::invalid_argument("x").value()), kUsage);
  EXPECT_EQ(status_of(Error::permission_denied("x").value()), kMachineCannot);
  EXPECT_EQ(status_of(Error::unavailable("x").value()), kMachineCannot);
}
}  // namespace
}  // namespace perjoule::cli
