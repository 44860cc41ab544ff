// The answer to one request as libmicrohttpd's thread and those who answer share it. Only for
// http_server.cc.
#pragma once

#include <microhttpd.h>

#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "net/http_server.h"

namespace perjoule {

class ServedExchange final : public ServerExchange,
                             public std::enable_shared_from_this<ServedExchange> {
 public:
  explicit ServedExchange(MHD_Connection* connection) : connection_(connection) {}

  void answer(ServerHead head, std::string body) override;
  void begin_stream(ServerHead head) override;
  std::size_t send(SharedText piece) override;
  void end(bool broken) override;

  /// The server's thread wants the answer's head: gives it, or waits for it.
  MHD_Result respond(MHD_Connection* connection);
  /// The server stops: nothing that waits is sent.
  void abandon();
  /// The connection is no more.
  void leave();

 private:
  MHD_Response* streamed();
  static ssize_t read_piece(void* self, std::uint64_t position, char* into, std::size_t most);
  static void let_go(void* self);
  ssize_t read(char* into, std::size_t most);
  void suspend();
  void resume();

  std::mutex mutex_;  // all below, and the connection's being suspended
  MHD_Connection* connection_;
  ServerHead head_;
  bool has_head_ = false;
  bool is_whole_ = false;
  std::string whole_;
  std::deque<SharedText> pieces_;
  std::size_t sent_ = 0;     // of the first piece
  std::size_t waiting_ = 0;  // bytes of all
  bool ended_ = false;
  bool broken_ = false;
  bool suspended_ = false;
};

}  // namespace perjoule
