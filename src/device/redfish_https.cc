#include <curl/curl.h>
#include <fmt/format.h>

#include "base/shared_library.h"
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

/// libcurl, opened when a controller is asked: with all that it needs it would double the time that
/// every start of the command takes.
struct Curl {
  static Result<Curl> open() {
    auto library = SharedLibrary::open("libcurl.so.4");
    if (!library)
      return Error::unavailable("Redfish needs libcurl, which is not here",
                                "install Debian's package libcurl4");
    Curl curl(std::move(*library));
    curl.shared.load(curl.init, "curl_easy_init");
    curl.shared.load(curl.cleanup, "curl_easy_cleanup");
    curl.shared.load(curl.set, "curl_easy_setopt");
    curl.shared.load(curl.perform, "curl_easy_perform");
    curl.shared.load(curl.info, "curl_easy_getinfo");
    curl.shared.load(curl.words, "curl_easy_strerror");
    const bool complete = curl.init != nullptr && curl.cleanup != nullptr && curl.set != nullptr &&
                          curl.perform != nullptr && curl.info != nullptr && curl.words != nullptr;
    if (!complete) return Error::not_supported("libcurl.so.4 lacks a function");
    return curl;
  }

  SharedLibrary shared;
  CURL* (*init)() = nullptr;
  void (*cleanup)(CURL*) = nullptr;
  CURLcode (*set)(CURL*, CURLoption, ...) = nullptr;
  CURLcode (*perform)(CURL*) = nullptr;
  CURLcode (*info)(CURL*, CURLINFO, ...) = nullptr;
  const char* (*words)(CURLcode) = nullptr;

 private:
  explicit Curl(SharedLibrary opened) : shared(std::move(opened)) {}
};

Result<std::string> get(const RedfishOptions& options) {
  PJ_TRY(const Curl api, Curl::open());
  const std::unique_ptr<CURL, void (*)(CURL*)> handle(api.init(), api.cleanup);
  if (!handle) return Error::internal("libcurl cannot be initialised");
  std::string text;
  CURL* curl = handle.get();
  api.set(curl, CURLOPT_URL, options.url.c_str());
  api.set(curl, CURLOPT_NOSIGNAL, 1L);
  api.set(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(options.timeout.value() * 1e3));
  api.set(curl, CURLOPT_WRITEFUNCTION, keep);
  api.set(curl, CURLOPT_WRITEDATA, &text);
  // A redirection could carry the password to another host.
  api.set(curl, CURLOPT_FOLLOWLOCATION, 0L);
  api.set(curl, CURLOPT_PROTOCOLS_STR, "https,http");
  if (!options.user.empty()) {
    api.set(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    api.set(curl, CURLOPT_USERNAME, options.user.c_str());
    api.set(curl, CURLOPT_PASSWORD, options.password.c_str());
  }
  if (!options.authorities.empty()) api.set(curl, CURLOPT_CAINFO, options.authorities.c_str());
  const CURLcode code = api.perform(curl);
  if (code == CURLE_OPERATION_TIMEDOUT)
    return Error::timeout(options.url + ": the controller did not answer in time");
  if (code != CURLE_OK)
    return Error::unavailable(fmt::format("{}: {}", options.url, api.words(code)));
  long http = 0;
  api.info(curl, CURLINFO_RESPONSE_CODE, &http);
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
