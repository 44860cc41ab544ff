#include "net/http_url.h"

#include <gtest/gtest.h>

namespace perjoule {
namespace {

HttpUrl url_of(std::string_view text) {
  const auto url = HttpUrl::parse(text);
  EXPECT_TRUE(url) << url.error().text();
  return url.value_or(HttpUrl{});
}

TEST(HttpUrl, ItsParts) {
  const HttpUrl url = url_of("https://api.example:8443/openai/v1/");
  EXPECT_TRUE(url.is_tls);
  EXPECT_EQ(url.host, "api.example");
  EXPECT_EQ(url.port, 8443);
  EXPECT_EQ(url.path, "/openai/v1");
  EXPECT_EQ(url.authority(), "api.example:8443");
  EXPECT_EQ(url.text(), "https://api.example:8443/openai/v1");
}

TEST(HttpUrl, WhatMayBeLeftOut) {
  EXPECT_EQ(url_of("localhost:8000").text(), "http://localhost:8000");
  EXPECT_EQ(url_of(" HTTP://localhost/ ").text(), "http://localhost");
  EXPECT_EQ(url_of("https://localhost").port, 443);
  EXPECT_EQ(url_of("https://localhost:443").authority(), "localhost");
  EXPECT_EQ(url_of("https://localhost:80").authority(), "localhost:80");
}

TEST(HttpUrl, AddressesOfIpv6) {
  EXPECT_EQ(url_of("http://[::1]:8000/v1").host, "::1");
  EXPECT_EQ(url_of("http://[::1]:8000/v1").authority(), "[::1]:8000");
  EXPECT_EQ(url_of("[::1]").text(), "http://[::1]");
}

TEST(HttpUrl, WhatIsNone) {
  for (const std::string_view text :
       {"", "http://", "ftp://host", "http://host:0", "http://host:65536",
        "http://host:", "http://host:8o", "http://me:secret@host", "http://host/v1?x=1",
        "http://host/#top", "http://ho st", "http://host/a b", "http://[::1", "http://[::1]8000",
        "http://[localhost]", "http://ho\r\nst", "http://::1:8000"}) {
    const auto url = HttpUrl::parse(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, ErrorCode::kInvalidArgument) << text;
  }
}

TEST(HttpUrl, AddressesOfTheHost) {
  const auto four = resolve(url_of("http://127.0.0.1:8000"));
  ASSERT_TRUE(four) << four.error().text();
  ASSERT_EQ(four->size(), 1U);
  EXPECT_EQ(four->front().text(), "127.0.0.1:8000");
  const auto six = resolve(url_of("http://[::1]:8000"));
  ASSERT_TRUE(six) << six.error().text();
  EXPECT_EQ(six->front().text(), "[::1]:8000");
  EXPECT_EQ(SocketAddress{}.text(), "no address");
}

TEST(HttpUrlTest, AUnixSocketIsAFile) {
  const auto url = HttpUrl::parse("unix:/run/a b.sock");
  ASSERT_TRUE(url) << url.error().text();
  EXPECT_EQ(url->socket, "/run/a b.sock");
  EXPECT_EQ(url->authority(), "localhost");
  EXPECT_EQ(url->text(), "unix:/run/a b.sock");
  const auto addresses = resolve(*url);
  ASSERT_TRUE(addresses);
  EXPECT_EQ((*addresses)[0].text(), "/run/a b.sock");
  EXPECT_FALSE(HttpUrl::parse("unix:"));
  EXPECT_FALSE(HttpUrl::parse("unix:/" + std::string(107, 'x')));
}

}  // namespace
}  // namespace perjoule
