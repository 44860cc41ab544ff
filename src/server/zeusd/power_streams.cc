#include "server/zeusd/power_streams.h"

#include "base/signals_kept.h"

namespace perjoule {
namespace {

constexpr std::size_t kMostLag = std::size_t{1} << 20U;
constexpr std::size_t kMostListeners = 1000;

std::string or_null(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "null";
}

/// The newer power where the counter has moved since, and remembers the reading then.
void follow(Channel& channel, Snapshot& before, std::optional<std::int64_t>& power) {
  const Snapshot now = channel.read(false);
  if (now.code != ErrorCode::kOk) return;
  const bool is_first = before.code != ErrorCode::kOk;
  if (!is_first && now.last_change == before.last_change) return;
  if (!is_first) power = milliwatts_between(before, now);
  before = now;
}

Snapshot unread() {
  Snapshot snapshot;
  snapshot.code = ErrorCode::kUnavailable;
  return snapshot;
}

}  // namespace

PowerStreams::PowerStreams(const ZeusdDevices& devices, Meter& meter, const Clock& clock,
                           bool looks_by_itself)
    : devices_(devices), meter_(meter), clock_(clock) {
  if (!looks_by_itself) return;
  const SignalsKept kept;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

PowerStreams::~PowerStreams() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  close();
}

Outcome PowerStreams::join(Of what, std::set<int> ids, std::shared_ptr<ServerExchange> exchange) {
  const std::lock_guard lock(mutex_);
  if (closed_) return Error::unavailable("the daemon is ending");
  if (listeners_.size() >= kMostListeners) {
    return Error::unavailable("there are " + std::to_string(listeners_.size()) +
                              " listeners already");
  }
  exchange->begin_stream({.content_type = "text/event-stream",
                          .fields = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}});
  const ServerExchange* const key = exchange.get();
  listeners_[key] = {.what = what,
                     .ids = std::move(ids),
                     .exchange = std::move(exchange),
                     .sent = {},
                     .heard = clock_.now()};
  joined_.notify_all();
  return {};
}

void PowerStreams::ended(const ServerExchange& exchange) {
  const std::lock_guard lock(mutex_);
  listeners_.erase(&exchange);
}

void PowerStreams::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (const auto& [key, listener] : listeners_) listener.exchange->end(false);
  listeners_.clear();
}

std::size_t PowerStreams::listeners() const {
  const std::lock_guard lock(mutex_);
  return listeners_.size();
}

std::set<int> PowerStreams::wanted(Of what) const {
  const std::lock_guard lock(mutex_);
  std::set<int> ids;
  for (const auto& [key, listener] : listeners_) {
    if (listener.what == what) ids.insert(listener.ids.begin(), listener.ids.end());
  }
  return ids;
}

std::map<int, std::string> PowerStreams::read_gpus(const std::set<int>& ids) {
  std::map<int, std::string> values;
  for (const int id : ids) {
    const auto power = power_now(devices_.gpus.at(id));
    if (!power) continue;
    values[id] = "\"gpu_id\":" + std::to_string(id) + ",\"power_mw\":" + std::to_string(*power);
  }
  return values;
}

std::map<int, std::string> PowerStreams::read_cpus(const std::set<int>& ids) {
  std::map<int, std::string> values;
  // Whom nobody has listened to meanwhile begins anew.
  std::erase_if(before_, [&](const auto& one) { return ids.count(one.first) == 0; });
  for (const int id : ids) {
    const ZeusdCpu& cpu = devices_.cpus.at(id);
    Before& before = before_.try_emplace(id, Before{unread(), unread(), {}, {}}).first->second;
    follow(*cpu.package, before.package, before.cpu_mw);
    if (cpu.dram != nullptr) follow(*cpu.dram, before.dram, before.dram_mw);
    if (!before.cpu_mw) continue;
    values[id] = "\"cpu_id\":" + std::to_string(id) + ",\"cpu_mw\":" + or_null(before.cpu_mw) +
                 ",\"dram_mw\":" + or_null(before.dram_mw);
  }
  return values;
}

bool PowerStreams::send_changed(Listener& listener, const std::map<int, std::string>& values,
                                std::int64_t unix_ms) {
  std::string text;
  for (const auto& [id, value] : values) {
    if (listener.ids.count(id) == 0 || listener.sent[id] == value) continue;
    listener.sent[id] = value;
    text += "data: {\"timestamp_ms\":" + std::to_string(unix_ms) + "," + value + "}\n\n";
  }
  // Now and then something must be sent, for who has gone is seen by that alone.
  const Instant now = clock_.now();
  if (text.empty() && now - listener.heard >= kAliveEvery) text = ": alive\n\n";
  if (text.empty()) return true;
  listener.heard = now;
  return listener.exchange->send(shared_text(std::move(text))) <= kMostLag;
}

void PowerStreams::look(Of what) {
  const std::set<int> ids = wanted(what);
  if (what == Of::kCpus && ids.empty()) before_.clear();
  if (ids.empty()) return;
  meter_.notice_suspend();
  const auto values = what == Of::kGpus ? read_gpus(ids) : read_cpus(ids);
  const std::int64_t unix_ms = clock_.unix_ns() / 1'000'000;
  const std::lock_guard lock(mutex_);
  for (auto at = listeners_.begin(); at != listeners_.end();) {
    Listener& listener = at->second;
    const bool stays = listener.what != what || send_changed(listener, values, unix_ms);
    if (!stays) listener.exchange->end(true);
    at = stays ? std::next(at) : listeners_.erase(at);
  }
}

void PowerStreams::run(const std::stop_token& stop) {
  std::uint64_t turn = 0;
  Instant due = clock_.now();
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      joined_.wait(lock, stop, [this] { return !listeners_.empty(); });
      due = std::max(due + kGpusEvery, clock_.now());
      const auto wait = std::chrono::duration<double>((due - clock_.now()).value());
      joined_.wait_for(lock, stop, wait, [] { return false; });
    }
    if (stop.stop_requested()) return;
    look(Of::kGpus);
    if (++turn % 2 == 0) look(Of::kCpus);
  }
}

}  // namespace perjoule
