#include "net/http_head.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

using State = HttpResponseParser::State;

struct Read {
  HttpHead head;
  std::string body;
  std::string behind;  ///< what the response left
  State state = State::kHead;
  std::string problem;
};

Read read_in_pieces(std::string_view text, std::size_t piece, bool ends = false,
                    HttpLimits limits = {}, bool is_to_head_request = false) {
  HttpResponseParser parser(limits);
  parser.begin(is_to_head_request);
  Read read;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    std::string_view bytes = text.substr(at, piece);
    while (!bytes.empty() && !parser.is_over()) read.body += parser.read(bytes);
    read.behind += bytes;
  }
  if (ends) parser.finish();
  read.head = parser.head();
  read.state = parser.state();
  read.problem = parser.problem();
  return read;
}

/// Whole, and checked to be the same however it is cut.
Read read_of(std::string_view text, bool ends = false, HttpLimits limits = {},
             bool is_to_head_request = false) {
  Read whole = read_in_pieces(text, text.size() + 1, ends, limits, is_to_head_request);
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    const Read cut = read_in_pieces(text, piece, ends, limits, is_to_head_request);
    EXPECT_EQ(cut.state, whole.state) << piece;
    EXPECT_EQ(cut.body, whole.body) << piece;
    // How far a failed one was read depends on the pieces.
    if (whole.state != State::kFailed) {
      EXPECT_EQ(cut.behind, whole.behind) << piece;
    }
    EXPECT_EQ(cut.problem, whole.problem) << piece;
    EXPECT_EQ(cut.head.fields, whole.head.fields) << piece;
  }
  return whole;
}

std::string problem_of(std::string_view text, HttpLimits limits = {}) {
  const Read read = read_of(text, false, limits);
  EXPECT_EQ(read.state, State::kFailed);
  return read.problem;
}

TEST(HttpHead, ABodyOfKnownLength) {
  const Read read = read_of(
      "HTTP/1.1 200 All is well\r\nContent-Length: 5\r\nX-Id:  a b \r\n\r\nhello"
      "HTTP/1.1 200");
  EXPECT_EQ(read.state, State::kDone);
  EXPECT_EQ(read.head.status, 200);
  EXPECT_EQ(read.head.reason, "All is well");
  EXPECT_EQ(*read.head.find("x-ID"), "a b");
  EXPECT_EQ(read.head.find("x-other"), nullptr);
  EXPECT_TRUE(read.head.keeps_alive);
  EXPECT_EQ(read.body, "hello");
  EXPECT_EQ(read.behind, "HTTP/1.1 200");
}

TEST(HttpHead, AChunkedBodyWithExtensionsAndTrailers) {
  const Read read = read_of(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
      "5;name=\"value\"\r\nhello\r\n00A \r\n, world!\r\n\r\n0\r\nX-Sum: 1\r\n\r\nnext");
  EXPECT_EQ(read.state, State::kDone) << read.problem;
  EXPECT_EQ(read.body, "hello, world!\r\n");
  EXPECT_EQ(read.behind, "next");
  EXPECT_EQ(read.head.find("x-sum"), nullptr);
}

TEST(HttpHead, ABodyUntilTheConnectionEnds) {
  const std::string_view text = "HTTP/1.1 200\r\n\r\nhello";
  EXPECT_EQ(read_of(text).state, State::kBody);
  const Read read = read_of(text, true);
  EXPECT_EQ(read.state, State::kDone);
  EXPECT_EQ(read.body, "hello");
  EXPECT_FALSE(read.head.keeps_alive);
}

TEST(HttpHead, ResponsesWithoutABody) {
  EXPECT_EQ(read_of("HTTP/1.1 204 No Content\r\n\r\nnext").behind, "next");
  EXPECT_EQ(read_of("HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\nnext").behind, "next");
  EXPECT_EQ(read_of("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nnext").behind, "next");
  EXPECT_EQ(read_of("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nnext", false, {}, true).behind,
            "next");
}

TEST(HttpHead, InterimResponsesAreReadOver) {
  const Read read = read_of(
      "HTTP/1.1 100 Continue\r\nContent-Length: 3\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: "
      "x\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(read.head.status, 200);
  EXPECT_EQ(read.head.find("link"), nullptr);
  EXPECT_EQ(read.body, "ok");
}

TEST(HttpHead, BareLineFeedsAndFoldedFields) {
  const Read read = read_of("HTTP/1.1 200 OK\nX-Long: a\n  b\n\tc\nContent-Length: 2\n\nok");
  EXPECT_EQ(read.state, State::kDone) << read.problem;
  EXPECT_EQ(*read.head.find("X-Long"), "a b c");
  EXPECT_EQ(read.body, "ok");
}

TEST(HttpHead, WhetherTheConnectionMayBeUsedAgain) {
  const auto keeps = [](const std::string& version, const std::string& fields) {
    return read_of("HTTP/" + version + " 200 OK\r\nContent-Length: 0\r\n" + fields + "\r\n")
        .head.keeps_alive;
  };
  EXPECT_TRUE(keeps("1.1", ""));
  EXPECT_FALSE(keeps("1.1", "Connection: upgrade, Close\r\n"));
  EXPECT_FALSE(keeps("1.0", ""));
  EXPECT_TRUE(keeps("1.0", "Connection: Keep-Alive\r\n"));
  // Who put the length there may see another end of the response than we do.
  EXPECT_FALSE(read_of("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "1\r\na\r\n0\r\n\r\n")
                   .head.keeps_alive);
}

TEST(HttpHead, LengthsMustAgree) {
  EXPECT_EQ(read_of("HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nok").body,
            "ok");
  for (const std::string length : {"2, 3", "-2", "+2", "0x2", "", "2 2", "99999999999999999999"}) {
    EXPECT_EQ(problem_of("HTTP/1.1 200 OK\r\nContent-Length: " + length + "\r\n\r\nok"),
              "Content-Length is no one number")
        << length;
  }
}

TEST(HttpHead, WhatIsNoResponseIsRefused) {
  for (const std::string line :
       {"", "HTTP/2 200 OK", "HTTP/1.1  200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK",
        "HTTP/1.1 099 OK", "HTTP/1.x 200 OK", "SSH-2.0-OpenSSH_9.2", "http/1.1 200 OK"}) {
    EXPECT_EQ(problem_of(line + "\r\n").substr(0, 20), "no HTTP/1.1 response") << line;
  }
  EXPECT_EQ(problem_of("HTTP/1.1 200 OK\r\nno colon\r\n"),
            "a field of the head has no name: 'no colon'");
  EXPECT_EQ(problem_of("HTTP/1.1 200 OK\r\nname : value\r\n"),
            "a field of the head has no name: 'name : value'");
  EXPECT_EQ(problem_of("HTTP/1.1 200 OK\r\n : value\r\n"),
            "the head's first field begins with a space");
  EXPECT_EQ(problem_of("HTTP/1.1 200 OK\r\na: b\rc\r\n"),
            "a CR or NUL stands inside a line of the head");
  EXPECT_EQ(problem_of("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
            "the server changes to another protocol");
}

TEST(HttpHead, CodingsThatAreNotChunkedAreRefused) {
  EXPECT_EQ(problem_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
            "a transfer coding that is not chunked: 'gzip'");
  EXPECT_EQ(problem_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n"),
            "a transfer coding that is not chunked: 'identity'");
}

TEST(HttpHead, WrongChunksAreRefused) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(problem_of(head + "g\r\n"), "a chunk without a size: 'g'");
  EXPECT_EQ(problem_of(head + "\r\n"), "a chunk without a size: ''");
  EXPECT_EQ(problem_of(head + "-1\r\n"), "a chunk without a size: '-1'");
  EXPECT_EQ(problem_of(head + "11111111111111111\r\n"),
            "a chunk without a size: '11111111111111111'");
  EXPECT_EQ(problem_of(head + "1\r\nab\r\n"), "a chunk is longer than its size says");
}

TEST(HttpHead, LimitsHold) {
  const HttpLimits limits{.head_bytes = 60, .line_bytes = 30};
  EXPECT_EQ(problem_of("HTTP/1.1 200 OK\r\nX: " + std::string(40, 'a') + "\r\n", limits),
            "a line of the head is longer than 30 bytes");
  EXPECT_EQ(problem_of("HTTP/1.1 200 OK\r\nX: " + std::string(20, 'a') +
                           "\r\nY: " + std::string(20, 'a') + "\r\n",
                       limits),
            "the head is longer than 60 bytes");
  const std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(problem_of(interim + interim + interim, limits), "the head is longer than 60 bytes");
  const HttpLimits trailers{.head_bytes = 50, .line_bytes = 30};
  EXPECT_EQ(
      problem_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " +
                     std::string(20, 'a') + "\r\nY: " + std::string(20, 'a') + "\r\n" + "Z: 1\r\n",
                 trailers),
      "the head is longer than 50 bytes");
  // The sizes of chunks, of which there may be any number, do not count.
  std::string many = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 100; ++i) many += "1\r\na\r\n";
  EXPECT_EQ(read_of(many + "0\r\n\r\n", false, trailers).state, State::kDone);
}

TEST(HttpHead, AConnectionThatEndsTooSoon) {
  const auto ended = [](std::string_view text) {
    HttpResponseParser parser;
    std::string_view bytes = text;
    while (!bytes.empty() && !parser.is_over()) (void)parser.read(bytes);
    parser.finish();
    EXPECT_EQ(parser.state(), State::kFailed);
    EXPECT_TRUE(parser.is_cut_off());
    return parser.problem();
  };
  EXPECT_EQ(ended(""), "the connection ended before a response began");
  EXPECT_EQ(ended("HTTP/1.1 200 OK\r\nA: b\r\n"), "the connection ended within the head");
  EXPECT_EQ(ended("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"),
            "the connection ended within the body");
  EXPECT_EQ(ended("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"),
            "the connection ended within the body");
}

TEST(HttpHead, OneParserReadsOneResponseBehindTheOther) {
  HttpResponseParser parser;
  std::string_view bytes =
      "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nnoHTTP/1.1 200 OK\r\nContent-Length: "
      "3\r\n\r\nyes";
  EXPECT_EQ(parser.read(bytes), "no");
  EXPECT_EQ(parser.head().status, 404);
  EXPECT_TRUE(parser.is_over());
  parser.begin();
  EXPECT_FALSE(parser.has_begun());
  EXPECT_EQ(parser.read(bytes), "yes");
  EXPECT_EQ(parser.head().status, 200);
}

}  // namespace
}  // namespace perjoule
