#include <curl/curl.h>
#include <fmt/format.h>

#include "device/redfish.h"

namespace perjoule {
namespace {

constexpr std::size_t kLongestAnswer = 1U << 20U;

std::size_t keep(char* data, std::size_t size, std::size_t count, void* text) {
  auto& kept = *static_cast<std::string*>(text);
  if (kept.size() + size * count > kLongestAnswer) return 0;
  kept.append(data, size * count);
  return size * count;
}

ErrorCode code_of(long http) {
  if (http == 401 || http == 403) return ErrorCode::kPermissionDenied;
  if (http == 404) return ErrorCode::kNotFound;
  return ErrorCode::kUnavailable;
}

Result<std::string> get(const RedfishOptions& options) {
  const std::unique_ptr<CURL, void (*)(CURL*)> handle(curl_easy_init(), curl_easy_cleanup);
  if (!handle) return Error::internal("libcurl cannot be initialised");
  std::string text;
  CURL* curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, options.url.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(options.timeout.value() * 1e3));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &text);
  // A redirection could carry the password to another host.
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http");
  if (!options.user.empty()) {
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(curl, CURLOPT_USERNAME, options.user.c_str());
    curl_easy_setopt(curl, CURLOPT_PASSWORD, options.password.c_str());
  }
  if (!options.authorities.empty())
    curl_easy_setopt(curl, CURLOPT_CAINFO, options.authorities.c_str());
  const CURLcode code = curl_easy_perform(curl);
  if (code == CURLE_OPERATION_TIMEDOUT)
    return Error::timeout(options.url + ": the controller did not answer in time");
  if (code != CURLE_OK)
    return Error::unavailable(fmt::format("{}: {}", options.url, curl_easy_strerror(code)));
  long http = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &http);
  if (http != 200) {
    return tl::unexpected<Error>(Error{code_of(http),
                                       fmt::format("{}: HTTP status {}", options.url, http),
                                       http == 401 ? "check the user and the password" : ""});
  }
  return text;
}

}  // namespace

RedfishFetch redfish_over_https(RedfishOptions options) {
  return [options = std::move(options)] { return get(options); };
}

}  // namespace perjoule
