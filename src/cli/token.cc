// perjoule token add|list|remove: who may speak with the daemon over TCP.
#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/utc_text.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "server/http/token_file.h"

namespace perjoule::cli {
namespace {

Result<std::string> file_of(const Arguments& arguments) {
  const std::string file = arguments.value("file");
  if (file.empty()) return Error::invalid_argument("--file is missing", "the file of the tokens");
  return file;
}

Result<std::int64_t> expiry_of(const Arguments& arguments, std::int64_t now_s) {
  const std::string text = arguments.value("expires");
  if (text == "never") return std::int64_t{0};
  // Days are how long a token is meant to last.
  const bool in_days = !text.empty() && text.back() == 'd';
  const auto days = in_days ? parse_number(text.substr(0, text.size() - 1)) : std::nullopt;
  const auto seconds =
      in_days ? Result<Seconds>(Seconds(days.value_or(-1) * 86'400)) : parse_seconds(text);
  if (!seconds || !(seconds->value() > 0) || seconds->value() > 1e10) {
    return Error::invalid_argument("--expires is no time to come: " + text,
                                   "such as 12h, 30d or never");
  }
  return now_s + static_cast<std::int64_t>(seconds->value());
}

std::string expiry_text(const TokenRecord& record) {
  return record.expires_unix == 0 ? "never" : utc_text(record.expires_unix * 1'000'000'000);
}

Result<int> add(const Arguments& arguments) {
  PJ_TRY(const std::string file, file_of(arguments));
  const std::string name = arguments.value("name");
  if (name.empty()) return Error::invalid_argument("--name is missing", "whose token it is");
  PJ_TRY(const Role role, parse_role(arguments.value("role")));
  if (role == Role::kNone)
    return Error::invalid_argument("--role none: such a token opens nothing");
  const RealClock clock;
  PJ_TRY(const std::int64_t expires, expiry_of(arguments, clock.unix_ns() / 1'000'000'000));
  PJ_TRY(const std::string token, add_token(file, name, role, expires));
  if (arguments.json()) {
    Json json = Json::object();
    json["schema"] = "perjoule.token.v1";
    json["name"] = name;
    json["role"] = name_of(role);
    json["expires_unix"] = expires == 0 ? Json() : Json(expires);
    json["token"] = token;
    print(json.dump() + "\n");
  } else {
    print(token + "\n");
    complain(
        "it is shown this once: the file has only its SHA-256. The daemon knows it after "
        "SIGHUP");
  }
  return kDone;
}

Result<int> list(const Arguments& arguments) {
  PJ_TRY(const std::string file, file_of(arguments));
  PJ_TRY(const std::vector<TokenRecord> records, read_tokens(file));
  if (arguments.json()) {
    Json json = Json::object();
    json["schema"] = "perjoule.tokens.v1";
    json["tokens"] = Json::array();
    for (const TokenRecord& record : records) {
      Json one = Json::object();
      one["name"] = record.name;
      one["role"] = name_of(record.role);
      one["expires_unix"] = record.expires_unix == 0 ? Json() : Json(record.expires_unix);
      json["tokens"].push_back(std::move(one));
    }
    print(json.dump(2) + "\n");
    return kDone;
  }
  Table table({{"NAME"}, {"ROLE"}, {"EXPIRES (UTC)"}});
  for (const TokenRecord& record : records) {
    table.add({record.name, std::string(name_of(record.role)), expiry_text(record)});
  }
  print(table.text());
  return kDone;
}

Result<int> remove(const Arguments& arguments) {
  PJ_TRY(const std::string file, file_of(arguments));
  PJ_CHECK(remove_token(file, arguments.value("name")));
  complain("the daemon forgets it after SIGHUP");
  return kDone;
}

Verb token_verb(std::string name, std::string summary, std::string example,
                std::function<Result<int>(const Arguments&)> run) {
  Verb verb;
  verb.name = "token " + std::move(name);
  verb.summary = std::move(summary);
  verb.has_page = false;  // a secret stays on the terminal
  verb.options = {{"file", "FILE", "of the tokens, as perjoule serve --tokens has it"}};
  verb.examples = {std::move(example)};
  verb.run = std::move(run);
  return verb;
}

}  // namespace

std::vector<Verb> token_verbs() {
  Verb adding =
      token_verb("add", "make a token for the daemon, and print it once",
                 "perjoule token add --file /etc/perjoule/tokens --name grafana --expires "
                 "365d",
                 add);
  adding.options.push_back({"name", "NAME", "whose it is"});
  adding.options.push_back({"role", "ROLE", "read, control or admin", "read"});
  adding.options.push_back({"expires", "TIME", "such as 12h, 30d or never", "90d"});
  Verb removing =
      token_verb("remove", "take a token back",
                 "perjoule token remove --file /etc/perjoule/tokens --name grafana", remove);
  removing.options.push_back({"name", "NAME", "whose it is"});
  return {adding,
          token_verb("list", "who has a token", "perjoule token list --file /etc/perjoule/tokens",
                     list),
          removing};
}

}  // namespace perjoule::cli
