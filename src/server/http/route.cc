#include "server/http/route.h"

#include "base/text.h"

namespace perjoule {

std::optional<std::string> Call::text(std::string_view name) const {
  const std::string* const found = target.parameter(name);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::optional<std::int64_t> Call::integer(std::string_view name) const {
  const std::string* const found = target.parameter(name);
  if (found == nullptr) return std::nullopt;
  const auto value = parse_integer(*found);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<double> Call::number(std::string_view name) const {
  const std::string* const found = target.parameter(name);
  if (found == nullptr) return std::nullopt;
  const auto value = parse_number(*found);
  return value ? std::optional(*value) : std::nullopt;
}

Reply Reply::json(const Json& document, int status) {
  return {.status = status, .body = document.dump() + "\n"};
}

Json error_document(const Error& error) {
  Json what = Json::object();
  what["code"] = name_of(error.code);
  what["message"] = error.message;
  what["remedy"] = error.remedy;
  Json document = Json::object();
  document["schema"] = "perjoule.error.v1";
  document["error"] = std::move(what);
  return document;
}

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kOk:
      return 200;
    case ErrorCode::kInvalidArgument:
      return 400;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kNotSupported:
      return 501;
    case ErrorCode::kPermissionDenied:
      return 403;
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kTimeout:
      return 504;
    case ErrorCode::kOutOfRange:
      return 422;
    case ErrorCode::kConflict:
      return 409;
    case ErrorCode::kDataLoss:
    case ErrorCode::kInternal:
      return 500;
  }
  return 500;
}

Reply error_reply(const Error& error) {
  return Reply::json(error_document(error), status_of(error.code));
}

}  // namespace perjoule
