// `perjoule twin serve` as a process of its own, for the benchmarks that ask it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace perjoule::bench {

class TwinServer {
 public:
  /// Starts the command with these words behind it and waits until it says where it listens. Ends
  /// the benchmark where it does not.
  TwinServer(const std::string& command, const std::vector<std::string>& words);
  /// Ends it, and what it has made with it.
  ~TwinServer();
  TwinServer(const TwinServer&) = delete;
  TwinServer& operator=(const TwinServer&) = delete;

  const std::string& url() const { return url_; }      ///< without "/v1"
  const std::string& model() const { return model_; }  ///< as requests have to name it

 private:
  pid_t process_ = 0;
  std::string url_;
  std::string model_;
};

}  // namespace perjoule::bench
