#include "server/pages/page_routes.h"

#include "server/pages/page_files.h"

namespace perjoule {
namespace {

/// Nothing of another site, and no script that is not a file of ours.
constexpr const char* kPolicy =
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

Result<Reply> file(const std::string& name, const char* caching) {
  const auto text = page_file(name);
  if (!text) return Error::not_found("there is no page " + name);
  return Reply{.content_type = page_type(name),
               .body = std::string(*text),
               .fields = {{"Cache-Control", caching},
                          {"Content-Security-Policy", kPolicy},
                          {"Referrer-Policy", "no-referrer"}}};
}

}  // namespace

std::vector<Route> page_routes() {
  std::vector<Route> routes;
  routes.push_back({.pattern = "/",
                    .role = Role::kNone,
                    .summary = "The dashboard",
                    .answer_type = "text/html",
                    .handle = [](const Call&) { return file("index.html", "no-cache"); }});
  // Their names have a digest of what they hold.
  routes.push_back({.pattern = "/assets/{name}",
                    .role = Role::kNone,
                    .summary = "Its scripts and styles",
                    .answer_type = "text/javascript",
                    .handle = [](const Call& call) {
                      return file("assets/" + call.captured[0],
                                  "public, max-age=31536000, immutable");
                    }});
  return routes;
}

}  // namespace perjoule
