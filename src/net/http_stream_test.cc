#include "net/http_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "net/test_http_reader.h"
#include "net/test_http_server.h"

namespace perjoule {
namespace {

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

void answer_all(TestPeer& peer) {
  while (peer.read_request()) peer.send(kOk);
}

TEST(HttpStream, ARequestAndItsResponse) {
  std::string request;
  TestHttpServer server([&](TestPeer& peer) {
    request = peer.read_request().value_or("");
    peer.send(kOk);
    peer.wait_until_hung_up();
  });
  TestReader reader;
  {
    TestClient test(server.url() + "/base");
    test.open(reader, {.method = "POST",
                       .path = "/v1/completions?x=1",
                       .fields = {{"Authorization", "Bearer secret"}},
                       .body = std::make_shared<const std::string>("{}")});
    test.turn_until_ended(reader);
    EXPECT_EQ(test.client->open_streams(), 0U);
    EXPECT_EQ(test.client->idle_connections(), 1U);
  }
  EXPECT_EQ(request, "POST /base/v1/completions?x=1 HTTP/1.1\r\nHost: " + server.url().substr(7) +
                         "\r\nAccept-Encoding: identity\r\nAuthorization: Bearer secret\r\n"
                         "Content-Length: 2\r\n\r\n{}");
  EXPECT_EQ(reader.status, 200);
  EXPECT_EQ(reader.text, "ok");
  EXPECT_EQ(reader.end->outcome, HttpOutcome::kComplete) << reader.end->message;
  ASSERT_EQ(reader.sent_at.size(), 1U);
  for (const Instant at : reader.stamps) {
    EXPECT_LE(reader.sent_at.front(), at);
    EXPECT_LE(at, reader.end->at);
  }
}

TEST(HttpStream, Ipv6) {
  TestHttpServer server(answer_all, AF_INET6);
  TestClient test(server.url());
  EXPECT_EQ(test.get().text, "ok");
}

TEST(HttpStream, TheNextAddressWhereOneDoesNotAnswer) {
  // A name that stands for both: nobody listens at the one of IPv6.
  TestHttpServer server(answer_all);
  TestClient test("http://localhost:" + std::to_string(server.port()));
  EXPECT_EQ(test.get().text, "ok");
  EXPECT_EQ(test.get().text, "ok");
}

TEST(HttpStream, AResponseCutAtEveryByte) {
  const std::string response =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;a=b\r\nhello\r\n7\r\n, world\r\n0\r\nX-Sum: 1\r\n\r\n";
  TestHttpServer server([&](TestPeer& peer) {
    for (std::size_t cut = 1; cut < response.size() && peer.read_request(); ++cut) {
      peer.send(std::string_view(response).substr(0, cut));
      std::this_thread::yield();
      peer.send(std::string_view(response).substr(cut));
    }
    if (peer.read_request()) peer.send_in_pieces(response, 1);
    peer.wait_until_hung_up();
  });
  TestClient test(server.url());
  for (std::size_t i = 0; i < response.size(); ++i) {
    const TestReader reader = test.get();
    EXPECT_EQ(reader.text, "hello, world") << i;
    EXPECT_EQ(reader.end->outcome, HttpOutcome::kComplete) << reader.end->message;
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpStream, ConnectionsAreUsedAgain) {
  TestHttpServer server(answer_all);
  TestClient test(server.url());
  // The next request of each is opened from within the end of the one before.
  std::vector<TestReader> readers(40);
  std::size_t opened = 0;
  std::size_t ended = 0;
  for (TestReader& reader : readers) {
    reader.on_end = [&] {
      ++ended;
      if (opened < readers.size()) test.open(readers[opened++]);
    };
  }
  while (opened < 4) test.open(readers[opened++]);
  while (ended < readers.size()) test.loop->turn();
  EXPECT_EQ(test.client->connections_made(), 4U);
  EXPECT_EQ(server.connections(), 4);
  EXPECT_EQ(test.client->idle_connections(), 4U);
}

TEST(HttpStream, ConnectionsAreNotUsedAgainWhereOneSideDoesNotWant) {
  TestHttpServer server([](TestPeer& peer) {
    if (peer.read_request())
      peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
    peer.wait_until_hung_up();
  });
  TestClient theirs(server.url());
  EXPECT_EQ(theirs.get().text, "ok");
  EXPECT_EQ(theirs.get().text, "ok");
  EXPECT_EQ(theirs.client->connections_made(), 2U);
  HttpClientOptions options;
  options.keeps_connections = false;
  TestHttpServer keeping(answer_all);
  TestClient ours(keeping.url(), options);
  EXPECT_EQ(ours.get().text, "ok");
  EXPECT_EQ(ours.get().text, "ok");
  EXPECT_EQ(ours.client->connections_made(), 2U);
}

TEST(HttpStream, AKeptConnectionThatWasClosedIsReplaced) {
  TestHttpServer server([](TestPeer& peer) {
    if (peer.number() == 0) {
      peer.read_request();
      peer.send(kOk);
      peer.read_request();  // and hangs up without an answer
    } else {
      answer_all(peer);
    }
  });
  TestClient test(server.url());
  EXPECT_EQ(test.get().text, "ok");
  const TestReader second = test.get();
  EXPECT_EQ(second.text, "ok");
  EXPECT_EQ(second.sent_at.size(), 2U);
  EXPECT_EQ(server.connections(), 2);
}

TEST(HttpStream, AnIdleConnectionThatEndsIsForgotten) {
  TestHttpServer server([](TestPeer& peer) {
    peer.read_request();
    peer.send(kOk);
  });
  TestClient test(server.url());
  EXPECT_EQ(test.get().text, "ok");
  while (test.client->idle_connections() > 0) test.loop->turn();
  const TestReader second = test.get();
  EXPECT_EQ(second.text, "ok");
  EXPECT_EQ(second.sent_at.size(), 1U);
}

TEST(HttpStream, BodiesLargerThanAllBuffers) {
  // The server reads all of it before it answers as much.
  const auto body = std::make_shared<const std::string>(24U << 20U, 'x');
  TestHttpServer server([](TestPeer& peer) {
    while (const auto request = peer.read_request()) {
      const std::string text = request->substr(request->find("\r\n\r\n") + 4);
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(text.size()) + "\r\n\r\n");
      peer.send(text);
    }
  });
  TestClient test(server.url());
  TestReader reader;
  test.open(reader, {.method = "POST", .body = body});
  test.turn_until_ended(reader);
  EXPECT_TRUE(reader.text == *body);
  EXPECT_EQ(test.client->idle_connections(), 1U);
}

TEST(HttpStream, AnAnswerBeforeTheRequestIsThere) {
  TestHttpServer server([](TestPeer& peer) {
    peer.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno");
    // A server that read on would have all of it before the client looks for an answer.
    peer.wait_deaf_until_hung_up();
  });
  TestClient test(server.url());
  TestReader reader;
  test.open(reader,
            {.method = "POST", .body = std::make_shared<const std::string>(64U << 20U, 'x')});
  test.turn_until_ended(reader);
  EXPECT_EQ(reader.status, 413);
  EXPECT_EQ(reader.end->outcome, HttpOutcome::kComplete);
  EXPECT_EQ(test.client->idle_connections(), 0U) << "half a request is in it";
}

TEST(HttpStream, HowAResponseCanBreakOff) {
  struct Case {
    std::string response;
    HttpOutcome outcome;
    std::string message;
    bool has_begun;
  };
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::vector<Case> cases = {
      {"", HttpOutcome::kLost, "the connection ended before a response began", false},
      {"HTTP/1.1 2", HttpOutcome::kLost, "the connection ended within the head", true},
      {head + "5\r\nhel", HttpOutcome::kLost, "the connection ended within the body", true},
      {head + "5\r\nhello\r\n", HttpOutcome::kLost, "the connection ended within the body", true},
      {head + "nonsense\r\n", HttpOutcome::kMalformed, "a chunk without a size: 'nonsense'", true},
      {"SSH-2.0-x\r\n", HttpOutcome::kMalformed, "no HTTP/1.1 response: it begins with 'SSH-2.0-x'",
       true},
      {"HTTP/1.1 200 OK\r\n\r\nhello", HttpOutcome::kComplete, "", true},
  };
  TestHttpServer server([&](TestPeer& peer) {
    peer.read_request();
    peer.send(cases[static_cast<std::size_t>(peer.number())].response);
  });
  TestClient test(server.url());
  for (const Case& one : cases) {
    const TestReader reader = test.get();
    EXPECT_EQ(reader.end->outcome, one.outcome) << one.response;
    EXPECT_EQ(reader.end->message, one.message);
    EXPECT_EQ(reader.end->has_begun, one.has_begun) << one.response;
  }
  EXPECT_EQ(test.client->open_streams(), 0U);
}

TEST(HttpStream, AResetIsALoss) {
  TestHttpServer server([](TestPeer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    peer.reset_at_end();
  });
  TestClient test(server.url());
  EXPECT_EQ(test.get().end->outcome, HttpOutcome::kLost);
}

TEST(HttpStream, NobodyListens) {
  std::string url;
  {
    const TestHttpServer server(answer_all);
    url = server.url();
  }
  TestClient test(url);
  const TestReader reader = test.get();
  EXPECT_EQ(reader.end->outcome, HttpOutcome::kNotConnected);
  EXPECT_EQ(reader.end->message, "connecting to " + url.substr(7) + ": Connection refused");
  EXPECT_TRUE(reader.sent_at.empty());
}

TEST(HttpStream, NoConnectionInTime) {
  // Who listens and never accepts answers nobody any more once the queue is full.
  const FileDescriptor listening(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(listening.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listening.get(), 0), 0);
  ASSERT_EQ(::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  std::vector<FileDescriptor> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    (void)::connect(waiting.back().get(), reinterpret_cast<sockaddr*>(&address), size);
  }
  HttpClientOptions options;
  options.timeouts.connect = Seconds(0.05);
  TestClient test("http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)), options);
  EXPECT_EQ(test.get().end->outcome, HttpOutcome::kConnectTimeout);
}

TEST(HttpStream, NoResponseAndNoMoreOfItInTime) {
  TestHttpServer server([](TestPeer& peer) {
    peer.read_request();
    if (peer.number() == 1) peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    peer.wait_until_hung_up();
  });
  HttpClientOptions options;
  options.timeouts.response = Seconds(0.05);
  TestClient silent(server.url(), options);
  const TestReader none = silent.get();
  EXPECT_EQ(none.end->outcome, HttpOutcome::kResponseTimeout);
  options.timeouts = {.idle = Seconds(0.05)};
  TestClient stalled(server.url(), options);
  const TestReader half = stalled.get();
  EXPECT_EQ(half.end->outcome, HttpOutcome::kIdleTimeout);
  EXPECT_EQ(half.text, "half");
}

TEST(HttpStream, ACancelledStreamIsQuiet) {
  TestHttpServer server([](TestPeer& peer) {
    if (!peer.read_request()) return;
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n4\r\nmore\r\n");
    peer.wait_until_hung_up();
  });
  TestClient test(server.url());
  TestReader reader;
  HttpClient::StreamId stream = 0;
  bool is_cancelled = false;
  reader.on_body = [&] {
    EXPECT_FALSE(is_cancelled);
    is_cancelled = true;
    test.client->cancel(stream);
  };
  stream = test.open(reader);
  while (!is_cancelled) test.loop->turn();
  EXPECT_EQ(reader.text, "half");
  EXPECT_FALSE(reader.end);
  EXPECT_EQ(test.client->open_streams(), 0U);
  EXPECT_EQ(test.client->idle_connections(), 0U);
  test.client->cancel(stream);
  // One that is still connecting.
  TestReader early;
  test.client->cancel(test.open(early));
  test.loop->turn(false);
  EXPECT_FALSE(early.end);
}

TEST(HttpStream, AClientMayEndWithStreamsOpen) {
  TestHttpServer server([](TestPeer& peer) { peer.wait_until_hung_up(); });
  std::vector<TestReader> readers(20);
  {
    TestClient test(server.url());
    for (TestReader& reader : readers) test.open(reader);
    test.loop->turn(false);
  }
  for (const TestReader& reader : readers) EXPECT_FALSE(reader.end);
}

TEST(HttpStream, RequestsThatBreakTheProtocolAreRefused) {
  TestHttpServer server(answer_all);
  TestClient test(server.url());
  TestReader reader;
  for (const HttpRequest& request :
       {HttpRequest{.method = "PATCH"}, HttpRequest{.path = "v1"}, HttpRequest{.path = "/a b"},
        HttpRequest{.path = "/a\r\nX: y"}, HttpRequest{.fields = {{"A", "b\r\nX: y"}}},
        HttpRequest{.fields = {{"A\n", "b"}}}, HttpRequest{.fields = {{"", "b"}}}}) {
    const auto stream = test.client->open(request, reader);
    ASSERT_FALSE(stream);
    EXPECT_EQ(stream.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(HttpStream, ManyStreamsAtATime) {
  constexpr std::size_t kStreams = 200;
  std::atomic<std::size_t> waiting = 0;
  TestHttpServer server([&](TestPeer& peer) {
    if (!peer.read_request()) return;
    // Nobody is answered before all are here.
    ++waiting;
    while (waiting < kStreams) std::this_thread::yield();
    peer.send(kOk);
    peer.wait_until_hung_up();
  });
  TestClient test(server.url());
  std::vector<TestReader> readers(kStreams);
  for (TestReader& reader : readers) test.open(reader);
  EXPECT_EQ(test.client->open_streams(), kStreams);
  for (const TestReader& reader : readers) test.turn_until_ended(reader);
  for (const TestReader& reader : readers) EXPECT_EQ(reader.text, "ok");
}

}  // namespace
}  // namespace perjoule
