// One request of a load: from its sending to its record. Of the load generator alone.
#pragma once

#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>

#include "net/http_stream.h"
#include "serving/load/load_generator.h"
#include "serving/stream/sse_parser.h"
#include "serving/stream/stream_event.h"
#include "serving/stream/token_stream.h"

namespace perjoule {

class LoadStream;

class LoadStreamOwner {
 public:
  virtual ~LoadStreamOwner() = default;
  /// Its last call; the owner may destroy the stream.
  virtual void stream_ended(LoadStream& stream) = 0;
};

/// What all requests of a load share.
struct LoadContext {
  EventLoop& loop;
  HttpClient& client;
  StreamEventReader& reader;
  std::pmr::memory_resource& memory;  ///< for what each chunk looks at
  const LoadOptions& options;
  bool is_streamed = true;  ///< the response is wanted as events
};

class LoadStream final : public HttpReader {
 public:
  /// What it is given must outlive it.
  LoadStream(const LoadContext& context, std::size_t index, LoadStreamOwner& owner);
  ~LoadStream() override { disarm(); }
  LoadStream(const LoadStream&) = delete;
  LoadStream& operator=(const LoadStream&) = delete;

  /// `attempts`: how often it was sent before, and refused.
  Outcome open(HttpRequest request, Instant scheduled, int attempts = 0);
  /// Cancels it: the owner is told.
  void give_up(Failure failure, std::string message);

  std::size_t index() const { return index_; }
  /// It was refused for now (429, 503): how long to wait, as the server says, or a second.
  std::optional<Seconds> may_come_again_in() const;
  /// Whole once the owner was told.
  RequestRecord& record() { return record_; }

  void sent(Instant at) override;
  void head(const HttpHead& head, Instant at) override;
  void body(std::string_view piece, Instant at) override;
  void ended(const HttpEnd& end) override;

 private:
  struct Deadline {
    Instant at;
    Failure failure = Failure::kTotalTimeout;
  };
  void take_events(std::string_view piece, Instant at);
  void finish(Failure failure, std::string message, Instant at);
  std::string refusal() const;
  std::optional<Deadline> deadline() const;
  void arm();
  void disarm();
  void look_at_deadline();

  // What each piece of the body looks at stands together, and first: with thousands of streams none
  // of it is in the cache.
  const LoadContext& context_;
  bool is_refused_ = false;
  bool has_events_ = false;
  Instant last_piece_;
  std::size_t chunks_ = 0;  ///< that there were when last_chunk_ was stamped
  Instant last_chunk_;
  SseParser parser_;
  TokenStream tokens_;

  std::size_t index_;
  LoadStreamOwner& owner_;
  HttpClient::StreamId stream_ = 0;
  RequestRecord record_;
  std::string text_;         ///< of a body that is no stream of events
  std::string retry_after_;  ///< the field's own words
  int times_sent_ = 0;
  int attempts_before_ = 0;
  EventLoop::TimerId timer_ = 0;
  Instant timer_at_;
};

}  // namespace perjoule
