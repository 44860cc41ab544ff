// The daemon's REST interface as calls that answer JSON or an Error.
//
//   PJ_TRY(auto api, ApiClient::connect(clock, {.address = "unix:/run/perjoule/perjoule.sock"}));
//   PJ_TRY(const Json lease, api->post("/api/v1/leases", request));
//
// What the daemon refuses comes back as the error it is: same code, same words, same remedy. One
// object serves one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "net/http_fetch.h"

namespace perjoule {

class ApiClient {
 public:
  struct Options {
    std::string address;              ///< "unix:/run/...", "https://node:8470"
    std::string token_variable = {};  ///< environment variable that has the token; empty: none
    Seconds patience = Seconds(30);   ///< for one answer
  };
  /// Looks the address up; connects with the first call.
  static Result<std::unique_ptr<ApiClient>> connect(const Clock& clock, const Options& options);
  /// The daemon of this machine: the first of daemon_socket_paths() at which one answers. not_found
  /// where there is none.
  static Result<std::unique_ptr<ApiClient>> find_local(const Clock& clock);

  Result<Json> get(const std::string& path) { return ask("GET", path, nullptr); }
  Result<Json> post(const std::string& path, const Json& body) { return ask("POST", path, &body); }
  /// Without a body.
  Result<Json> post(const std::string& path) { return ask("POST", path, nullptr); }
  Result<Json> put(const std::string& path, const Json& body) { return ask("PUT", path, &body); }
  /// Null where the answer has no body.
  Result<Json> erase(const std::string& path) { return ask("DELETE", path, nullptr); }
  const std::string& address() const { return options_.address; }

 private:
  ApiClient(Options options, std::unique_ptr<HttpFetcher> fetcher)
      : options_(std::move(options)), fetcher_(std::move(fetcher)) {}
  Result<Json> ask(const char* method, const std::string& path, const Json* body);

  const Options options_;
  std::unique_ptr<HttpFetcher> fetcher_;
};

/// The error that a document perjoule.error.v1 tells; unavailable for an answer of that status that
/// is none.
Error error_told(int status, const std::string& body);

}  // namespace perjoule
