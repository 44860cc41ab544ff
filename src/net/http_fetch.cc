#include "net/http_fetch.h"

#include <fmt/format.h>

#include <optional>

#include "base/text.h"

namespace perjoule {
namespace {

class PageReader final : public HttpReader {
 public:
  PageReader(EventLoop& loop, std::size_t most) : loop_(loop), most_(most) {}

  void sent(Instant at) override { page_.sent = at; }
  void head(const HttpHead& head, Instant at) override {
    page_.status = head.status;
    page_.begun = at;
  }
  void body(std::string_view piece, Instant /*at*/) override {
    is_too_large_ |= page_.body.size() + piece.size() > most_;
    if (!is_too_large_) page_.body.append(piece);
    if (is_too_large_) loop_.stop();
  }
  void ended(const HttpEnd& end) override {
    end_ = end;
    loop_.stop();
  }

  bool has_ended() const { return end_.has_value(); }
  Result<HttpPage> take(const std::string& where, Seconds time) {
    if (is_too_large_)
      return Error::out_of_range(fmt::format("{}: more than {} MiB", where, most_ >> 20U));
    if (!end_)
      return Error::timeout(fmt::format("{}: no whole answer in {}", where, to_text(time, 3)));
    if (end_->outcome != HttpOutcome::kComplete)
      return Error::unavailable(where + ": " + end_->message);
    return std::move(page_);
  }

 private:
  EventLoop& loop_;
  std::size_t most_;
  HttpPage page_;
  std::optional<HttpEnd> end_;
  bool is_too_large_ = false;
};

}  // namespace

Result<std::unique_ptr<HttpFetcher>> HttpFetcher::create(const Clock& clock, const HttpUrl& url,
                                                         const HttpClientOptions& options,
                                                         const FetchLimits& limits) {
  PJ_TRY(auto loop, EventLoop::create(clock));
  std::unique_ptr<HttpFetcher> fetcher(new HttpFetcher(std::move(loop), limits));
  PJ_TRY(fetcher->client_, HttpClient::create(*fetcher->loop_, url, options));
  return fetcher;
}

Result<HttpPage> HttpFetcher::ask(HttpRequest request) {
  const std::string where = client_->url().text() + request.path;
  PageReader reader(*loop_, limits_.bytes);
  PJ_TRY(const HttpClient::StreamId stream, client_->open(std::move(request), reader));
  const EventLoop::TimerId timer =
      loop_->call_at(loop_->clock().now() + limits_.time, [this] { loop_->stop(); });
  loop_->run();
  loop_->cancel(timer);
  if (!reader.has_ended()) client_->cancel(stream);
  return reader.take(where, limits_.time);
}

Result<HttpPage> HttpFetcher::get(const std::string& path, std::vector<HttpField> fields) {
  return ask({.path = path, .fields = std::move(fields)});
}

}  // namespace perjoule
