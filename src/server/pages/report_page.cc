#include "server/pages/report_page.h"

#include "server/pages/page_files.h"

namespace perjoule {
namespace {

constexpr std::string_view kPlace = R"(<script type="application/json" id="documents">)";
constexpr std::string_view kNothing = "[]";

/// "<" as JSON may also write it: no text of a document ends the script that it stands in.
std::string without_tags(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

Result<std::string> report_page(const std::vector<Json>& documents) {
  const auto page = page_file("report.html");
  const std::size_t place = page ? page->find(kPlace) : std::string_view::npos;
  const std::size_t begin = place + kPlace.size();
  if (place == std::string_view::npos || page->substr(begin, kNothing.size()) != kNothing) {
    return Error::internal("this build has no page for reports", "build it with web/dist");
  }
  Json all = Json::array();
  for (const Json& document : documents) all.push_back(document);
  std::string text(page->substr(0, begin));
  text += without_tags(all.dump());
  text += page->substr(begin + kNothing.size());
  return text;
}

}  // namespace perjoule
