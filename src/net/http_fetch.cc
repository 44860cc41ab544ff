#include "net/http_fetch.h"

#include <fmt/format.h>

namespace perjoule {
namespace {

constexpr std::size_t kLargest = 64U << 20U;
constexpr Seconds kPatience{10};

class PageReader final : public HttpReader {
 public:
  explicit PageReader(EventLoop& loop) : loop_(loop) {}

  void sent(Instant at) override { page_.sent = at; }
  void head(const HttpHead& head, Instant at) override {
    page_.status = head.status;
    page_.begun = at;
  }
  void body(std::string_view piece, Instant /*at*/) override {
    is_too_large_ |= page_.body.size() + piece.size() > kLargest;
    if (!is_too_large_) page_.body.append(piece);
  }
  void ended(const HttpEnd& end) override {
    end_ = end;
    loop_.stop();
  }

  Result<HttpPage> take(const std::string& where) {
    if (end_.outcome != HttpOutcome::kComplete)
      return Error::unavailable(where + ": " + end_.message);
    if (is_too_large_)
      return Error::out_of_range(fmt::format("{}: more than {} MiB", where, kLargest >> 20U));
    return std::move(page_);
  }

 private:
  EventLoop& loop_;
  HttpPage page_;
  HttpEnd end_;
  bool is_too_large_ = false;
};

}  // namespace

Result<std::unique_ptr<HttpFetcher>> HttpFetcher::create(const Clock& clock, const HttpUrl& url,
                                                         HttpClientOptions options) {
  if (!options.timeouts.response) options.timeouts.response = kPatience;
  if (!options.timeouts.idle) options.timeouts.idle = kPatience;
  PJ_TRY(auto loop, EventLoop::create(clock));
  std::unique_ptr<HttpFetcher> fetcher(new HttpFetcher(std::move(loop)));
  PJ_TRY(fetcher->client_, HttpClient::create(*fetcher->loop_, url, options));
  return fetcher;
}

Result<HttpPage> HttpFetcher::get(const std::string& path, std::vector<HttpField> fields) {
  PageReader reader(*loop_);
  HttpRequest request;
  request.path = path;
  request.fields = std::move(fields);
  PJ_CHECK(client_->open(std::move(request), reader));
  loop_->run();
  return reader.take(client_->url().text() + path);
}

}  // namespace perjoule
