#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "net/http_stream.h"
#include "net/test_certificate.h"
#include "net/test_http_reader.h"
#include "net/test_http_server.h"

namespace perjoule {
namespace {

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

class HttpStreamTls : public testing::Test {
 protected:
  void SetUp() override { test_certificate::write(certificate_, trusted_); }
  void TearDown() override { std::filesystem::remove(trusted_); }
  HttpClientOptions trusting() const {
    HttpClientOptions options;
    options.tls.authorities = trusted_;
    return options;
  }

  test_certificate::Certificate certificate_ = test_certificate::make();
  std::unique_ptr<SSL_CTX, test_certificate::Free> context_ =
      test_certificate::server_context(certificate_);
  std::string trusted_ = testing::TempDir() + "trusted-" + std::to_string(getpid()) + ".pem";
};

void answer_all(TestPeer& peer) {
  while (peer.read_request()) peer.send(kOk);
}

TEST_F(HttpStreamTls, ARequestAndItsResponse) {
  TestHttpServer server(answer_all, AF_INET, context_.get());
  TestClient test(server.url(), trusting());
  for (int i = 0; i < 3; ++i) {
    const TestReader reader = test.get();
    EXPECT_EQ(reader.text, "ok");
    EXPECT_EQ(reader.end->outcome, HttpOutcome::kComplete) << reader.end->message;
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(HttpStreamTls, TheServersNameIsSentAndChecked) {
  std::string name;
  TestHttpServer server(
      [&](TestPeer& peer) {
        name = peer.server_name();
        answer_all(peer);
      },
      AF_INET, context_.get());
  {
    TestClient test("https://localhost:" + std::to_string(server.port()), trusting());
    EXPECT_EQ(test.get().text, "ok");
  }
  EXPECT_EQ(name, "localhost");
}

TEST_F(HttpStreamTls, ACertificateForAnotherHost) {
  const auto other = test_certificate::make("DNS:elsewhere.example");
  test_certificate::write(other, trusted_);
  const auto context = test_certificate::server_context(other);
  TestHttpServer server(answer_all, AF_INET, context.get());
  TestClient test(server.url(), trusting());
  const TestReader reader = test.get();
  EXPECT_EQ(reader.end->outcome, HttpOutcome::kNotConnected);
  EXPECT_NE(reader.end->message.find("certificate is not trusted"), std::string::npos)
      << reader.end->message;
  EXPECT_TRUE(reader.sent_at.empty()) << "nothing may be sent to who cannot say who it is";
}

TEST_F(HttpStreamTls, ACertificateThatNobodyHasSigned) {
  TestHttpServer server(answer_all, AF_INET, context_.get());
  TestClient strict(server.url());
  const TestReader reader = strict.get();
  EXPECT_EQ(reader.end->outcome, HttpOutcome::kNotConnected);
  EXPECT_NE(reader.end->message.find("certificate is not trusted"), std::string::npos)
      << reader.end->message;
  HttpClientOptions options;
  options.tls.verifies = false;
  TestClient lenient(server.url(), options);
  EXPECT_EQ(lenient.get().text, "ok");
}

TEST_F(HttpStreamTls, FilesOfCertificatesThatAreNone) {
  const RealClock clock;
  const auto loop = EventLoop::create(clock);
  HttpClientOptions options;
  options.tls.authorities = "/nowhere/trusted.pem";
  const HttpUrl url = HttpUrl::parse("https://localhost").value();
  EXPECT_EQ(HttpClient::create(**loop, url, options).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(write_file_atomically(trusted_, "no certificate"));
  EXPECT_EQ(HttpClient::create(**loop, url, trusting()).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(HttpStreamTls, AServerThatSpeaksNoTls) {
  TestHttpServer server([](TestPeer& peer) {
    peer.send("HTTP/1.1 400 Bad Request\r\n\r\n");
    peer.wait_until_hung_up();
  });
  TestClient test("https://127.0.0.1:" + std::to_string(server.port()), trusting());
  const TestReader reader = test.get();
  EXPECT_EQ(reader.end->outcome, HttpOutcome::kNotConnected);
  EXPECT_EQ(reader.end->message, "the TLS handshake failed: wrong version number");
}

TEST_F(HttpStreamTls, AServerThatHangsUpOrStandsStillInTheHandshake) {
  TestHttpServer server([](TestPeer& peer) {
    if (peer.number() == 1) peer.wait_until_hung_up();
  });
  HttpClientOptions options = trusting();
  TestClient closed("https://127.0.0.1:" + std::to_string(server.port()), options);
  EXPECT_EQ(closed.get().end->outcome, HttpOutcome::kNotConnected);
  options.timeouts.connect = Seconds(0.05);
  TestClient stalled("https://127.0.0.1:" + std::to_string(server.port()), options);
  EXPECT_EQ(stalled.get().end->outcome, HttpOutcome::kConnectTimeout);
}

TEST_F(HttpStreamTls, BodiesLargerThanAllBuffers) {
  const auto body = std::make_shared<const std::string>(5U << 20U, 'x');
  TestHttpServer server(
      [](TestPeer& peer) {
        while (const auto request = peer.read_request()) {
          const std::string text = request->substr(request->find("\r\n\r\n") + 4);
          peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(text.size()) +
                    "\r\n\r\n");
          peer.send(text);
        }
      },
      AF_INET, context_.get());
  TestClient test(server.url(), trusting());
  for (int i = 0; i < 2; ++i) {
    TestReader reader;
    test.open(reader, {.method = "POST", .body = body});
    test.turn_until_ended(reader);
    EXPECT_TRUE(reader.text == *body) << reader.end->message;
  }
}

TEST_F(HttpStreamTls, AResponseCutAtEveryByte) {
  const std::string response =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
  TestHttpServer server(
      [&](TestPeer& peer) {
        while (peer.read_request()) peer.send_in_pieces(response, 1);
      },
      AF_INET, context_.get());
  TestClient test(server.url(), trusting());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(test.get().text, "hello");
}

TEST_F(HttpStreamTls, AnEndOfTheConnectionIsNoEndOfTheBody) {
  TestHttpServer server(
      [](TestPeer& peer) {
        peer.read_request();
        peer.send("HTTP/1.1 200 OK\r\n\r\nuntil the end");
        if (peer.number() == 1) peer.leave_without_goodbye();
      },
      AF_INET, context_.get());
  TestClient test(server.url(), trusting());
  const TestReader whole = test.get();
  EXPECT_EQ(whole.end->outcome, HttpOutcome::kComplete) << whole.end->message;
  const TestReader cut = test.get();
  EXPECT_EQ(cut.text, "until the end");
  EXPECT_EQ(cut.end->outcome, HttpOutcome::kLost);
  EXPECT_EQ(cut.end->message, "the connection ended without the end of its TLS session");
}

}  // namespace
}  // namespace perjoule
