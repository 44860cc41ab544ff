#include "cli/page.h"

#include "base/file.h"
#include "base/text.h"
#include "server/pages/report_page.h"

namespace perjoule::cli {

Result<std::vector<Json>> documents_in(const std::string& printed) {
  if (auto whole = parse_json(printed)) return std::vector<Json>{std::move(*whole)};
  std::vector<Json> documents;
  for (const std::string_view line : split(printed, '\n')) {
    if (trim(line).empty()) continue;
    auto document = parse_json(line);
    if (!document) return fail(document, "a line that is no document");
    documents.push_back(std::move(*document));
  }
  if (!documents.empty()) return documents;
  return Error::not_supported("no document that a page could show",
                              "such as a verb prints with --json");
}

Outcome write_page(const std::string& path, const std::vector<Json>& documents) {
  PJ_TRY(const std::string page, report_page(documents));
  return write_file_atomically(path, page);
}

}  // namespace perjoule::cli
