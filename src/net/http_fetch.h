// One GET at a time, waited for: pages that are read now and again, such as /metrics.
//
//   PJ_TRY(auto fetcher, HttpFetcher::create(clock, url, {}));
//   PJ_TRY(const HttpPage page, fetcher->get("/metrics"));     // page.status, page.body
//
// The connection is kept between two calls. Not for measuring latencies: each call waits.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/event_loop.h"
#include "net/http_stream.h"

namespace perjoule {

struct HttpPage {
  int status = 0;
  std::string body;
  Instant sent;   ///< its request
  Instant begun;  ///< the response's head was read
};

class HttpFetcher {
 public:
  /// As HttpClient::create. Where the options have no time-outs for the response, 10 s are taken.
  static Result<std::unique_ptr<HttpFetcher>> create(const Clock& clock, const HttpUrl& url,
                                                     HttpClientOptions options);

  /// Whatever its status. unavailable where there is no whole response, and out_of_range where it
  /// is larger than 64 MiB.
  Result<HttpPage> get(const std::string& path, std::vector<HttpField> fields = {});
  const HttpUrl& url() const { return client_->url(); }

 private:
  explicit HttpFetcher(std::unique_ptr<EventLoop> loop) : loop_(std::move(loop)) {}

  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<HttpClient> client_;
};

}  // namespace perjoule
