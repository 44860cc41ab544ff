#include "server/services/document_routes.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/file.h"

namespace perjoule {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20U;
constexpr std::size_t kBeginning = 4096;
constexpr std::string_view kEnding = ".json";

bool is_document_name(const std::string& name) {
  return name.size() > kEnding.size() && name.front() != '.' &&
         name.find('/') == std::string::npos && name.ends_with(kEnding);
}

/// The schema that a document's beginning names: it stands first in all that we write. Read without
/// the rest, for a document may be long.
std::string schema_of(std::string_view beginning) {
  constexpr std::string_view kKey = "\"schema\"";
  const std::size_t key = beginning.find(kKey);
  if (key == std::string_view::npos) return {};
  const std::size_t open = beginning.find('"', key + kKey.size());
  const std::size_t close = open == std::string_view::npos ? open : beginning.find('"', open + 1);
  if (close == std::string_view::npos) return {};
  return std::string(beginning.substr(open + 1, close - open - 1));
}

std::string path_of(const std::string& folder, const std::string& name) {
  std::string path = folder;
  path.append("/").append(name);
  return path;
}

Result<Reply> list(const std::string& folder) {
  Json json = Json::object();
  json["schema"] = "perjoule.documents.v1";
  json["documents"] = Json::array();
  for (const std::string& name :
       folder.empty() ? std::vector<std::string>() : list_folder(folder)) {
    if (!is_document_name(name)) continue;
    const std::string path = path_of(folder, name);
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    const auto beginning = read_beginning(path, kBeginning);
    const std::string schema = beginning ? schema_of(*beginning) : "";
    if (schema.empty()) continue;
    Json one = Json::object();
    one["name"] = name;
    one["schema"] = schema;
    one["title"] = name.substr(0, name.size() - kEnding.size());
    one["modified_unix_ms"] =
        static_cast<std::int64_t>(found.st_mtim.tv_sec) * 1000 + found.st_mtim.tv_nsec / 1'000'000;
    one["bytes"] = static_cast<std::int64_t>(found.st_size);
    json["documents"].push_back(std::move(one));
  }
  return Reply::json(json);
}

Result<Reply> show(const std::string& folder, const std::string& name) {
  // Only what the list has: no name leads out of the folder, nor a link's target that is no file.
  const std::vector<std::string> names =
      folder.empty() ? std::vector<std::string>() : list_folder(folder);
  if (!is_document_name(name) || std::find(names.begin(), names.end(), name) == names.end()) {
    return Error::not_found("there is no document " + name);
  }
  // A file of its own: no link leads elsewhere, no pipe is waited for.
  struct stat found {};
  const std::string path = path_of(folder, name);
  if (::lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return Error::not_found("there is no document " + name);
  }
  PJ_TRY(std::string text, read_file(path, kMostBytes));
  if (const auto parsed = parse_json(text); !parsed) {
    return Error::data_loss("the document " + name + " is no JSON: " + parsed.error().message,
                            "write it anew");
  }
  return Reply{.body = std::move(text)};
}

}  // namespace

std::vector<Route> document_routes(const std::string& folder) {
  std::vector<Route> routes;
  routes.push_back({.pattern = "/api/v1/documents",
                    .summary = "What verbs have written with --json into the documents' folder",
                    .answer = "perjoule.documents.v1",
                    .is_slow = true,
                    .handle = [folder](const Call&) { return list(folder); }});
  routes.push_back(
      {.pattern = "/api/v1/documents/{name}",
       .summary = "One of them as it was written",
       .answer = "perjoule.document",
       .is_slow = true,
       .handle = [folder](const Call& call) { return show(folder, call.captured[0]); }});
  return routes;
}

}  // namespace perjoule
