// perjoule page: documents as one page.
#include "base/file.h"
#include "cli/page.h"
#include "cli/table.h"
#include "cli/verbs.h"

namespace perjoule::cli {
namespace {

Result<int> make_page(const Arguments& arguments) {
  const std::string output = arguments.value("output");
  PJ_CHECK(check_writable(output));
  std::vector<Json> documents;
  for (const std::string& path : arguments.values("FILE")) {
    PJ_TRY(const std::string text, read_file(path));
    auto found = documents_in(text);
    if (!found) return fail(found, path);
    for (Json& document : *found) documents.push_back(std::move(document));
  }
  PJ_CHECK(write_page(output, documents));
  if (arguments.json()) {
    Json json = Json::object();
    json["schema"] = "perjoule.page.v1";
    json["page"] = output;
    json["documents"] = static_cast<std::int64_t>(documents.size());
    print(json.dump() + "\n");
  } else {
    print("page: " + output + "\n");
  }
  return kDone;
}

}  // namespace

Verb page_verb() {
  Verb verb;
  verb.name = "page";
  verb.has_page = false;
  verb.summary = "one HTML file that shows documents of several verbs";
  verb.description =
      "Puts what verbs wrote with --json into one page that opens from disk, in any browser, and "
      "asks "
      "nothing of anybody. A single verb's page is made by its own --html.";
  verb.options = {{"output", "FILE", "the page", "perjoule.html"}};
  verb.positionals = {
      {.name = "FILE", .help = "a document, or JSON lines of them", .repeatable = true}};
  verb.examples = {"perjoule page sweep.json frontier.json --output report.html"};
  verb.run = make_page;
  return verb;
}

}  // namespace perjoule::cli
