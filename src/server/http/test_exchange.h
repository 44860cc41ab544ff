// For tests: what a client of the router has received, without sockets.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "base/json.h"
#include "net/http_server.h"

namespace perjoule {

class TestExchange final : public ServerExchange {
 public:
  void answer(ServerHead head, std::string body) override {
    const std::lock_guard lock(mutex_);
    if (has_head_) return;
    head_ = std::move(head);
    text_ = std::move(body);
    has_head_ = over_ = true;
    changed_.notify_all();
  }
  void begin_stream(ServerHead head) override {
    const std::lock_guard lock(mutex_);
    head_ = std::move(head);
    has_head_ = true;
  }
  std::size_t send(SharedText piece) override {
    const std::lock_guard lock(mutex_);
    text_ += *piece;
    lag_ += lags_ ? piece->size() : 0;
    return lag_;
  }
  void end(bool broken) override {
    const std::lock_guard lock(mutex_);
    over_ = true;
    broken_ = broken;
    changed_.notify_all();
  }

  /// From now on nothing is taken.
  void lag() {
    const std::lock_guard lock(mutex_);
    lags_ = true;
  }
  std::string wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_; });
    return text_;
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  int status() {
    wait();
    return head_.status;
  }
  std::string field(std::string_view name) {
    for (const HttpField& one : head_.fields) {
      if (one.name == name) return one.value;
    }
    return {};
  }
  bool is_over() {
    const std::lock_guard lock(mutex_);
    return over_;
  }
  bool is_broken() {
    const std::lock_guard lock(mutex_);
    return broken_;
  }
  Json json() {
    const auto parsed = parse_json(wait());
    EXPECT_TRUE(parsed) << text_;
    return parsed ? *parsed : Json();
  }
  std::string message() {
    const Json document = json();
    const Json* const error = document.find("error");
    return error == nullptr ? "" : error->string("message").value_or("");
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  ServerHead head_;
  std::string text_;
  std::size_t lag_ = 0;
  bool has_head_ = false;
  bool over_ = false;
  bool broken_ = false;
  bool lags_ = false;
};

}  // namespace perjoule
