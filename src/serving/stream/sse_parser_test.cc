#include "serving/stream/sse_parser.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace perjoule {
namespace {

using Event = std::pair<std::string, std::string>;  // type and data
using Events = std::vector<Event>;
constexpr std::size_t kLongest = 1000;

struct Answer {
  Events events;
  Events at_end;  ///< what finish() gave
  bool too_long = false;
  bool operator==(const Answer&) const = default;
};

Answer answer_to(const std::vector<std::string>& pieces, std::size_t longest = kLongest) {
  SseParser parser(longest);
  Answer answer;
  const auto into = [](Events& events) {
    return [&events](const SseEvent& event) { events.emplace_back(event.type, event.data); };
  };
  for (const std::string& piece : pieces) parser.read(piece, into(answer.events));
  parser.finish(into(answer.at_end));
  answer.too_long = parser.too_long();
  return answer;
}

/// In pieces of that size, and once with the first piece so long and the rest in one.
void expect_same_however_cut(const std::string& text, const Answer& whole,
                             std::size_t longest = kLongest) {
  for (std::size_t size = 1; size <= text.size(); ++size) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size(); at += size) pieces.push_back(text.substr(at, size));
    EXPECT_EQ(answer_to(pieces, longest), whole) << "in pieces of " << size << ": " << text;
    EXPECT_EQ(answer_to({text.substr(0, size), "", text.substr(size)}, longest), whole)
        << "cut at " << size << ": " << text;
  }
}

struct Case {
  std::string text;
  Events events;
  Events at_end = {};
};

TEST(SseParser, EventsAsTheStandardHasThem) {
  const std::vector<Case> cases{
      {"data: a\n\ndata: b\n\n", {{"", "a"}, {"", "b"}}},
      {"data: a\r\n\r\ndata: b\r\n\r\n", {{"", "a"}, {"", "b"}}},
      {"data: a\r\rdata: b\r\r", {{"", "a"}, {"", "b"}}},
      {"data: a\r\n\rdata: b\n\r\n", {{"", "a"}, {"", "b"}}},
      {"data:a\n\n", {{"", "a"}}},
      {"data:  a \n\n", {{"", " a "}}},
      // The standard's own examples.
      {"data: YHOO\ndata: +2\ndata: 10\n\n", {{"", "YHOO\n+2\n10"}}},
      {": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third "
       "event\n\n",
       {{"", "first event"}, {"", "second event"}, {"", " third event"}}},
      {"data\n\ndata\ndata\n\ndata:", {{"", ""}, {"", "\n"}}, {{"", ""}}},
      {"data:test\n\ndata: test\n\n", {{"", "test"}, {"", "test"}}},
      // Fields that are none, and ones that look like data.
      {"id: 7\nretry: 1\nfoo: bar\nData: x\n data: y\ndatas: z\nevent\n\n", {}},
      {"event: error\ndata: {}\n\ndata: x\n\n", {{"error", "{}"}, {"", "x"}}},
      {"event: ping\n\ndata: x\n\n", {{"", "x"}}},
      {": OPENROUTER PROCESSING\n\n:\n\ndata: x\n:\n\n", {{"", "x"}}},
      {"\n\n\n\r\n\r\r", {}},
      {"data: a:b: c\n\n", {{"", "a:b: c"}}},
      // Byte-order mark: the first is taken off, before anything else.
      {"\xEF\xBB\xBF"
       "data: a\n\n\xEF\xBB\xBF"
       "data: b\n\n",
       {{"", "a"}}},
      {"\xEF\xBB\xBF\n\ndata: a\n\n", {{"", "a"}}},
      {"\n\xEF\xBB\xBF"
       "data: a\n\n",
       {}},
      // UTF-8, cut anywhere, and bytes that are none.
      {"data: \xE2\x82\xAC\xF0\x9F\x98\x80\n\n", {{"", "\xE2\x82\xAC\xF0\x9F\x98\x80"}}},
      {"data: \xFF\n\n", {{"", "\xFF"}}},
      {std::string("data: a\0b\n\n", 11), {{"", std::string("a\0b", 3)}}},
      // The connection ends early.
      {"data: a\n\ndata: b\n", {{"", "a"}}, {{"", "b"}}},
      {"data: a\n\ndata: [DONE]", {{"", "a"}}, {{"", "[DONE]"}}},
      {"data: a\n\n: bye", {{"", "a"}}},
      {"data: a\r", {}, {{"", "a"}}},
      {"da", {}},
      {"", {}},
  };
  for (const Case& c : cases) {
    const Answer whole = answer_to({c.text});
    EXPECT_EQ(whole.events, c.events) << c.text;
    EXPECT_EQ(whole.at_end, c.at_end) << c.text;
    EXPECT_FALSE(whole.too_long);
    expect_same_however_cut(c.text, whole);
  }
}

TEST(SseParser, AnEventComesWithTheByteThatCompletesIt) {
  SseParser parser(kLongest);
  int events = 0;
  const auto count = [&events](const SseEvent&) { ++events; };
  parser.read("data: a\r\n", count);
  EXPECT_EQ(events, 0);
  parser.read("\r", count);  // the LF that may follow is not waited for
  EXPECT_EQ(events, 1);
  parser.read("\n", count);
  EXPECT_EQ(events, 1);
  parser.read("data: b\r\n\r", count);
  EXPECT_EQ(events, 2);
}

TEST(SseParser, WhatIsTooLongEndsIt) {
  const std::vector<std::pair<std::string, Events>> cases{
      {"data: 12\n\ndata: 123\n\ndata: 1\n\n", {{"", "12"}}},  // a line
      {"data: 12\n\n:23456789\n\ndata: 1\n\n", {{"", "12"}}},  // a comment
      {"data: 12\n\ndata: 123", {{"", "12"}}},                 // a line without its end
      {"data:123\ndata:456\ndata:7\n\ndata: 1\n\n", {}},       // an event of short lines
      {"data:123\ndata:4567", {}},                             // the same, at the end
  };
  for (const auto& [text, events] : cases) {
    const Answer whole = answer_to({text}, 8);
    EXPECT_EQ(whole.events, events) << text;
    EXPECT_TRUE(whole.at_end.empty()) << text;
    EXPECT_TRUE(whole.too_long) << text;
    expect_same_however_cut(text, whole, 8);
  }
  EXPECT_FALSE(answer_to({"data:123\ndata:4567\n\n"}, 9).too_long);
}

TEST(SseParser, AnotherResponseBeginsAnew) {
  SseParser parser(8);
  Events events;
  const auto take = [&events](const SseEvent& event) {
    events.emplace_back(event.type, event.data);
  };
  parser.read("event: x\ndata: 123456\n", take);
  EXPECT_TRUE(parser.too_long());
  parser.clear();
  EXPECT_FALSE(parser.too_long());
  parser.read("\ndata: a\n\ndata: b\r", take);
  parser.clear();
  parser.read("\n\ndata: c\n\n", take);
  EXPECT_EQ(events, (Events{{"", "a"}, {"", "c"}}));
  parser.finish(take);
  parser.finish(take);
  EXPECT_EQ(events.size(), 2U);
}

/// The standard's grammar written down the simplest way, on a whole text.
Answer slow_answer_to(std::string text) {
  if (text.compare(0, 3, "\xEF\xBB\xBF") == 0) text.erase(0, 3);
  std::vector<std::string> lines(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    if (text[i] == '\r' || text[i] == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += text[i];
    }
  }
  Answer answer;
  std::string type;
  std::optional<std::string> data;
  const auto dispatch = [&](Events& events) {
    if (data) events.emplace_back(type, *data);
    type.clear();
    data.reset();
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    const bool is_rest = i + 1 == lines.size();  // what stands behind the last end
    if (line.empty() && !is_rest) dispatch(answer.events);
    const std::size_t colon = line.find(':');
    std::string value = colon == std::string::npos ? "" : line.substr(colon + 1);
    if (!value.empty() && value[0] == ' ') value.erase(0, 1);
    if (line.substr(0, colon) == "data") data = data ? *data + "\n" + value : value;
    if (line.substr(0, colon) == "event") type = value;
  }
  dispatch(answer.at_end);
  return answer;
}

RC_GTEST_PROP(SseParserProperty, AnyCuttingGivesTheStandardsEvents, ()) {
  const auto words = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "data", ": ", ":", " ", "\n", "\r", "\r\n", "event", "x", "\xEF\xBB\xBF", "\xE2\x82\xAC"));
  std::string text;
  for (const std::string& word : words) text += word;
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size();) {
    const auto size = *rc::gen::inRange<std::size_t>(1, 6);
    pieces.push_back(text.substr(at, size));
    at += size;
  }
  const Answer expected = slow_answer_to(text);
  RC_ASSERT(answer_to({text}) == expected);
  RC_ASSERT(answer_to(pieces) == expected);
}

TEST(SseParser, AnEventThatLiesWholeInTheBytesIsNotCopied) {
  const std::string text = "event: note\ndata: {\"a\":1}\n\n:\ndata: b\ndata: c\n\n";
  SseParser parser(kLongest);
  std::vector<bool> in_place;
  parser.read(text, [&](const SseEvent& event) {
    in_place.push_back(event.data.data() >= text.data() &&
                       event.data.data() < text.data() + text.size());
  });
  EXPECT_EQ(in_place, (std::vector<bool>{true, false})) << "two lines are joined, and so copied";
}

TEST(SseParser, NothingOfABufferThatIsGoneIsReadAfterALineThatIsTooLong) {
  SseParser parser(8);
  const auto none = [](const SseEvent& event) { ADD_FAILURE() << event.data; };
  for (const char* piece : {"data: a\ndata: too long\n", "data: b\n\n"}) {
    const auto bytes = std::make_unique<std::string>(std::string(piece) + std::string(64, ':'));
    parser.read(*bytes, none);
  }
  parser.finish(none);
  EXPECT_TRUE(parser.too_long());
}

TEST(SseParser, DataWhoseBytesGoBeforeTheEventEndsAreKept) {
  SseParser parser(kLongest);
  Events events;
  const auto take = [&](const SseEvent& event) { events.emplace_back(event.type, event.data); };
  for (const char* piece : {"data: first\n", "data: second\n", "\ndata: third\n", "\n"}) {
    // Elsewhere each time, and gone at once: what is read of it afterwards a sanitizer sees.
    const auto bytes = std::make_unique<std::string>(piece);
    parser.read(*bytes, take);
  }
  EXPECT_EQ(events, (Events{{"", "first\nsecond"}, {"", "third"}}));
}

}  // namespace
}  // namespace perjoule
