#include "client/api_client.h"

#include "base/file.h"
#include "client/daemon_socket.h"
#include "net/bearer_token.h"

namespace perjoule {
namespace {

/// By the name that name_of() gives.
ErrorCode code_named(const std::string& name) {
  for (int i = static_cast<int>(ErrorCode::kInvalidArgument);
       i <= static_cast<int>(ErrorCode::kInternal); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    if (name_of(code) == name) return code;
  }
  return ErrorCode::kInternal;
}

}  // namespace

Error error_told(int status, const std::string& body) {
  const auto document = parse_json(body);
  const Json* const error = document ? document->find("error") : nullptr;
  const auto message = error == nullptr ? std::nullopt : error->string("message");
  if (!message) {
    return {ErrorCode::kUnavailable, "the answer has status " + std::to_string(status),
            "is it perjoule that listens there?"};
  }
  return {code_named(error->string("code").value_or("")), *message,
          error->string("remedy").value_or("")};
}

Result<std::unique_ptr<ApiClient>> ApiClient::connect(const Clock& clock, const Options& options) {
  PJ_TRY(const HttpUrl url, HttpUrl::parse(options.address));
  HttpClientOptions how;
  how.timeouts.connect = options.patience;
  PJ_TRY(auto fetcher, HttpFetcher::create(clock, url, how, {.time = options.patience}));
  return std::unique_ptr<ApiClient>(new ApiClient(options, std::move(fetcher)));
}

Result<std::unique_ptr<ApiClient>> ApiClient::find_local(const Clock& clock) {
  std::string tried;
  for (const std::string& path : daemon_socket_paths()) {
    tried += (tried.empty() ? "" : ", ") + path;
    if (!path_exists(path)) continue;
    PJ_TRY(auto client, connect(clock, {.address = "unix:" + path}));
    if (client->get("/api/v1/version")) return client;
  }
  return Error::not_found("no daemon answers at " + tried, "perjoule serve");
}

Result<Json> ApiClient::ask(const char* method, const std::string& path, const Json* body) {
  HttpRequest request{.method = method, .path = path};
  add_bearer_token(options_.token_variable, request.fields);
  if (body != nullptr) {
    request.fields.push_back({"Content-Type", "application/json"});
    request.body = std::make_shared<const std::string>(body->dump());
  }
  auto page = fetcher_->ask(std::move(request));
  if (!page) return fail(page, options_.address);
  if (page->status >= 300) {
    return tl::unexpected<Error>(error_told(page->status, page->body));
  }
  if (page->body.empty()) return Json();
  auto answer = parse_json(page->body);
  if (!answer) return fail(answer, options_.address + path);
  return answer;
}

}  // namespace perjoule
