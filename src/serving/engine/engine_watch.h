// A server's own counters, read again and again beside a run.
//
//   PJ_TRY(auto reader, EngineReader::create(clock, url, {}));
//   PJ_TRY(const EnginePage page, reader->read());             // one look, waited for
//
//   PJ_TRY(const auto watch, EngineWatch::start(std::move(reader), Seconds(1)));   // a thread
//   ...
//   const EngineCourse course = watch->stop();
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/http_fetch.h"
#include "serving/engine/engine_metrics.h"

namespace perjoule {

struct EnginePage {
  EngineScrape scrape;  ///< stamped in the middle between asking and the answer's head
  Seconds within;       ///< the figures are of a moment no further from the stamp
  MetricsText page;     ///< all of it
};

class EngineReader {
 public:
  /// `url` is the page's own, "http://localhost:8000/metrics"; /metrics where it has no path.
  static Result<std::unique_ptr<EngineReader>> create(const Clock& clock, const HttpUrl& url,
                                                      const std::string& token_variable,
                                                      const HttpClientOptions& http = {});
  /// unavailable where the page does not come or its status is not 200, not_found and
  /// invalid_argument as read_engines.
  Result<EnginePage> read();
  const std::string& where() const { return where_; }

 private:
  EngineReader() = default;

  std::unique_ptr<HttpFetcher> fetcher_;
  std::string path_;
  std::string where_;
  std::vector<HttpField> fields_;
};

struct EngineCourse {
  std::vector<EngineScrape> scrapes;  ///< in order of time
  std::size_t failed = 0;             ///< looks that brought no page
  std::string last_failure;
};

class EngineWatch {
 public:
  /// Reads once at the beginning, each `every` behind, and once at the end. The first page must be
  /// one: its error is answered.
  static Result<std::unique_ptr<EngineWatch>> start(std::unique_ptr<EngineReader> reader,
                                                    Seconds every);
  ~EngineWatch();
  EngineCourse stop();

 private:
  EngineWatch(std::unique_ptr<EngineReader> reader, Seconds every)
      : reader_(std::move(reader)), every_(every) {}
  void loop();
  void look();

  std::unique_ptr<EngineReader> reader_;
  Seconds every_;
  EngineCourse course_;  ///< of the thread's, until it has ended
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  ///< guarded by mutex_
  std::thread thread_;
};

}  // namespace perjoule
