#include "serving/engine/engine_watch.h"

#include <fmt/format.h>

#include <chrono>

#include "net/bearer_token.h"

namespace perjoule {

Result<std::unique_ptr<EngineReader>> EngineReader::create(const Clock& clock, const HttpUrl& url,
                                                           const std::string& token_variable,
                                                           const HttpClientOptions& http) {
  std::unique_ptr<EngineReader> reader(new EngineReader);
  HttpUrl server = url;
  // A client puts its requests' paths behind the URL's own.
  reader->path_ = server.path.empty() ? "/metrics" : std::exchange(server.path, {});
  reader->where_ = server.text() + reader->path_;
  PJ_TRY(reader->fetcher_, HttpFetcher::create(clock, server, http));
  add_bearer_token(token_variable, reader->fields_);
  return reader;
}

Result<EnginePage> EngineReader::read() {
  PJ_TRY(HttpPage page, fetcher_->get(path_, fields_));
  if (page.status != 200) {
    return Error::unavailable(fmt::format("{}: status {}", where_, page.status),
                              "--metrics names the page of the server's own counters");
  }
  EnginePage answer;
  auto text = parse_metrics_text(page.body);
  if (!text) return fail(text, where_);
  answer.page = std::move(*text);
  answer.within = (page.begun - page.sent) / 2.0;
  auto scrape = read_engines(answer.page, page.sent + answer.within);
  if (!scrape) return fail(scrape, where_);
  answer.scrape = std::move(*scrape);
  return answer;
}

Result<std::unique_ptr<EngineWatch>> EngineWatch::start(std::unique_ptr<EngineReader> reader,
                                                        Seconds every) {
  std::unique_ptr<EngineWatch> watch(new EngineWatch(std::move(reader), every));
  PJ_TRY(EnginePage first, watch->reader_->read());
  watch->course_.scrapes.push_back(std::move(first.scrape));
  watch->thread_ = std::thread([raw = watch.get()] { raw->loop(); });
  return watch;
}

EngineWatch::~EngineWatch() { stop(); }

EngineCourse EngineWatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
    look();
  }
  return std::move(course_);
}

void EngineWatch::loop() {
  const auto pause = std::chrono::duration<double>(every_.value());
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, pause, [this] { return stopping_; })) {
    lock.unlock();
    look();
    lock.lock();
  }
}

void EngineWatch::look() {
  auto page = reader_->read();
  if (page) {
    course_.scrapes.push_back(std::move(page->scrape));
    return;
  }
  ++course_.failed;
  course_.last_failure = page.error().text();
}

}  // namespace perjoule
