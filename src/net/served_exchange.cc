#include "net/served_exchange.h"

#include <algorithm>
#include <utility>

#include "net/microhttpd.h"

namespace perjoule {
namespace {

constexpr std::size_t kPieceBuffer = 16 * 1024;  // a longer piece is several chunks

using Response = std::unique_ptr<MHD_Response, decltype(&MHD_destroy_response)>;

void set_head(MHD_Response& response, const ServerHead& head) {
  if (!head.content_type.empty()) {
    microhttpd().add_response_header(&response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                     head.content_type.c_str());
  }
  for (const HttpField& field : head.fields) {
    microhttpd().add_response_header(&response, field.name.c_str(), field.value.c_str());
  }
}

}  // namespace

void ServedExchange::answer(ServerHead head, std::string body) {
  const std::lock_guard lock(mutex_);
  if (has_head_) return;
  head_ = std::move(head);
  has_head_ = true;
  whole_ = std::move(body);
  is_whole_ = ended_ = true;
  resume();
}

void ServedExchange::begin_stream(ServerHead head) {
  const std::lock_guard lock(mutex_);
  if (has_head_) return;
  head_ = std::move(head);
  has_head_ = true;
  resume();
}

std::size_t ServedExchange::send(SharedText piece) {
  const std::lock_guard lock(mutex_);
  if (ended_) return 0;
  if (!piece->empty()) {
    waiting_ += piece->size();
    pieces_.push_back(std::move(piece));
    resume();
  }
  return waiting_;
}

void ServedExchange::end(bool broken) {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  broken_ |= broken;
  resume();
}

MHD_Result ServedExchange::respond(MHD_Connection* connection) {
  {
    const std::lock_guard lock(mutex_);
    if (!has_head_) {
      if (ended_) return MHD_NO;
      suspend();
      return MHD_YES;
    }
  }
  // Head and whole body are written once, with has_head_. Not under our lock: the library holds
  // a response's own while it calls read_piece().
  const Response response(is_whole_ ? microhttpd().create_response_from_buffer(
                                          whole_.size(), whole_.data(), MHD_RESPMEM_MUST_COPY)
                                    : streamed(),
                          microhttpd().destroy_response);
  if (response == nullptr) return MHD_NO;
  if (is_whole_) std::string().swap(whole_);  // the library has its copy
  set_head(*response, head_);
  return microhttpd().queue_response(connection, static_cast<unsigned>(head_.status),
                                     response.get());
}

void ServedExchange::abandon() {
  const std::lock_guard lock(mutex_);
  pieces_.clear();
  ended_ = broken_ = true;
  resume();
}

void ServedExchange::leave() {
  const std::lock_guard lock(mutex_);
  connection_ = nullptr;
  suspended_ = false;
  ended_ = true;
  pieces_.clear();
  waiting_ = 0;
}

MHD_Response* ServedExchange::streamed() {
  auto* const self = new std::shared_ptr<ServedExchange>(shared_from_this());
  MHD_Response* const response = microhttpd().create_response_from_callback(
      MHD_SIZE_UNKNOWN, kPieceBuffer, &ServedExchange::read_piece, self, &ServedExchange::let_go);
  if (response == nullptr) delete self;
  return response;
}

ssize_t ServedExchange::read_piece(void* self, std::uint64_t, char* into, std::size_t most) {
  return (*static_cast<std::shared_ptr<ServedExchange>*>(self))->read(into, most);
}

void ServedExchange::let_go(void* self) {
  delete static_cast<std::shared_ptr<ServedExchange>*>(self);
}

ssize_t ServedExchange::read(char* into, std::size_t most) {
  const std::lock_guard lock(mutex_);
  if (pieces_.empty()) {
    if (ended_)
      return broken_ ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
    suspend();
    return 0;
  }
  const std::string& first = *pieces_.front();
  const std::size_t count = std::min(most, first.size() - sent_);
  std::copy_n(first.data() + sent_, count, into);
  sent_ += count;
  waiting_ -= count;
  if (sent_ == first.size()) {
    pieces_.pop_front();
    sent_ = 0;
  }
  return static_cast<ssize_t>(count);
}

void ServedExchange::suspend() {
  suspended_ = true;
  microhttpd().suspend_connection(connection_);
}

void ServedExchange::resume() {
  if (suspended_ && connection_ != nullptr) microhttpd().resume_connection(connection_);
  suspended_ = false;
}

}  // namespace perjoule
