#include "server/zeusd/zeusd_reply.h"

#include <algorithm>

#include "base/text.h"

namespace perjoule {
namespace {

/// Both of the devices, one of the two empty.
void read_all(const std::set<int>& ids, const std::function<Result<Json>(int)>& read, Json& values,
              std::map<int, Error>& errors) {
  for (const int id : ids) {
    auto value = read(id);
    if (value) {
      values[std::to_string(id)] = std::move(*value);
    } else {
      errors.emplace(id, value.error());
    }
  }
}

}  // namespace

Result<std::set<int>> device_ids(const Call& call, std::string_view parameter,
                                 const std::set<int>& known) {
  const auto given = call.text(parameter);
  if (!given) return known;
  std::set<int> ids;
  for (const std::string_view word : split(*given, ',')) {
    const auto id = parse_integer(trim(word));
    if (!id || *id < 0 || *id > 65'535) {
      return Error::invalid_argument(std::string(parameter) + " is no list of numbers: " + *given,
                                     "write 0,1");
    }
    ids.insert(static_cast<int>(*id));
  }
  return ids;
}

bool is_true(const Call& call, std::string_view parameter) {
  return call.text(parameter) == "true";
}

int zeusd_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kOutOfRange:
    case ErrorCode::kNotSupported:
    case ErrorCode::kNotFound:
      return 400;
    case ErrorCode::kPermissionDenied:
      return 403;
    case ErrorCode::kConflict:
      return 409;
    default:
      return 500;
  }
}

Reply errors_reply(const std::map<int, Error>& errors) {
  Json texts = Json::object();
  int status = 400;
  for (const auto& [id, error] : errors) {
    texts[std::to_string(id)] = error.text();
    status = std::max(status, zeusd_status(error.code));
  }
  Json json = Json::object();
  json["errors"] = std::move(texts);
  return Reply::json(json, status);
}

Reply read_each(const std::set<int>& ids, const std::function<Result<Json>(int)>& read) {
  Json values = Json::object();
  std::map<int, Error> errors;
  read_all(ids, read, values, errors);
  return errors.empty() ? Reply::json(values) : errors_reply(errors);
}

Reply power_of_each(const std::set<int>& ids, std::int64_t unix_ms,
                    const std::function<Result<Json>(int)>& read) {
  Json values = Json::object();
  std::map<int, Error> errors;
  read_all(ids, read, values, errors);
  if (!errors.empty()) return errors_reply(errors);
  Json json = Json::object();
  json["timestamp_ms"] = unix_ms;
  json["power_mw"] = std::move(values);
  return Reply::json(json);
}

Error no_such_device(std::string_view kind, int id, const std::set<int>& known) {
  std::string there;
  for (const int one : known) there += (there.empty() ? "" : ", ") + std::to_string(one);
  return {ErrorCode::kInvalidArgument,
          "there is no " + std::string(kind) + " " + std::to_string(id) + " here",
          there.empty() ? "there are none" : "there are " + there};
}

}  // namespace perjoule
