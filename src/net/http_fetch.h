// One request at a time, waited for: pages that are read now and again, such as /metrics.
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

struct FetchLimits {
  Seconds time = Seconds(10);      ///< from asking until the last byte, connecting and all
  std::size_t bytes = 64U << 20U;  ///< of the body
};

class HttpFetcher {
 public:
  /// As HttpClient::create.
  static Result<std::unique_ptr<HttpFetcher>> create(const Clock& clock, const HttpUrl& url,
                                                     const HttpClientOptions& options,
                                                     const FetchLimits& limits = {});

  /// Whatever its status. timeout and out_of_range beyond the limits, unavailable where there is no
  /// whole response for another reason.
  Result<HttpPage> ask(HttpRequest request);
  Result<HttpPage> get(const std::string& path, std::vector<HttpField> fields = {});
  const HttpUrl& url() const { return client_->url(); }

 private:
  HttpFetcher(std::unique_ptr<EventLoop> loop, FetchLimits limits)
      : loop_(std::move(loop)), limits_(limits) {}

  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<HttpClient> client_;
  FetchLimits limits_;
};

}  // namespace perjoule
