// Questions and answers of a line each between processes of one machine, over a Unix socket.
//
//   PJ_TRY(auto server, LineServer::listen("/run/user/0/perjoule-42/plan", service));
//   PJ_TRY(LineClient client, LineClient::connect(server->path(), Seconds(5)));
//   PJ_TRY(const std::string answer, client.ask(R"({"call":"join"})", Seconds(5)));
//
// The socket is its owner's alone (mode 0600): who may open the file may speak. A client that ends,
// however it does, is noticed at once. One that sends a line longer than any of ours is hung up on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "base/units.h"
#include "net/line_buffer.h"

namespace perjoule {

/// A line longer than this is no question and no answer of ours: a report of 100,000 instructions
/// is 2 MB.
inline constexpr std::size_t kLongestLine = 64U << 20U;

/// Who answers a LineServer's questions; called from its one thread.
class LineService {
 public:
  virtual ~LineService() = default;
  /// A client has connected, of that process (0 where it cannot be told); before its first line.
  virtual void came(int /*client*/, std::int64_t /*process*/) {}
  /// The answer to a line of that client (numbered from 0, never twice), without a line's end.
  virtual std::string answer(int client, std::string_view line) = 0;
  /// The client's end of the connection is closed.
  virtual void left(int client) = 0;
};

class LineServer {
 public:
  /// Listens at a new file and answers from a thread of its own until it is destroyed, which
  /// removes the file. `service` must outlive it. conflict where the file exists,
  /// invalid_argument where the path is longer than the system takes (107 bytes).
  static Result<std::unique_ptr<LineServer>> listen(const std::string& path, LineService& service);
  ~LineServer();
  LineServer(const LineServer&) = delete;
  LineServer& operator=(const LineServer&) = delete;

  const std::string& path() const { return path_; }

 private:
  struct Client {
    int number = 0;
    FileDescriptor socket;
    LineBuffer incoming{kLongestLine};
    std::string outgoing;  ///< what the socket did not take yet
    bool gone = false;
  };
  LineServer(std::string path, LineService& service) : path_(std::move(path)), service_(service) {}
  void serve();
  void accept_client();
  void receive(Client& client);
  void send(Client& client);

  std::string path_;
  LineService& service_;
  FileDescriptor listening_;
  FileDescriptor wake_;  ///< an event that ends serve()
  std::vector<Client> clients_;
  int next_number_ = 0;
  std::thread thread_;
};

class LineClient {
 public:
  /// Waits up to `patience` for a server to listen there. unavailable when none does.
  static Result<LineClient> connect(const std::string& path, Seconds patience);

  /// Over a connection there is already.
  static LineClient over(FileDescriptor connected) { return LineClient(std::move(connected)); }

  /// Sends a line and waits for its answer. timeout after `patience`, unavailable when the server
  /// has ended, data_loss for an answer that is none; after any of them the client is of no more
  /// use.
  Result<std::string> ask(std::string_view line, Seconds patience);
  /// Waits for a line that comes unasked; likewise.
  Result<std::string> hear(Seconds patience) { return exchange({}, patience); }

 private:
  explicit LineClient(FileDescriptor socket) : socket_(std::move(socket)) {}
  /// Sends all of it, then waits for a line.
  Result<std::string> exchange(std::string rest, Seconds patience);
  FileDescriptor socket_;
  LineBuffer incoming_{kLongestLine};
};

}  // namespace perjoule
