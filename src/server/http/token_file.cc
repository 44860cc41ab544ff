#include "server/http/token_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace perjoule {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
constexpr std::size_t kSecretBytes = 32;

std::string to_line(const TokenRecord& record) {
  Json json = Json::object();
  json["name"] = record.name;
  json["role"] = name_of(record.role);
  json["sha256"] = record.sha256;
  json["expires_unix"] = record.expires_unix == 0 ? Json() : Json(record.expires_unix);
  return json.dump() + "\n";
}

bool is_digest(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<TokenRecord> record_of(const Json& json) {
  TokenRecord record;
  record.name = json.string("name").value_or("");
  record.sha256 = json.string("sha256").value_or("");
  if (record.name.empty()) return Error::invalid_argument("a token without a name");
  if (!is_digest(record.sha256)) {
    return Error::invalid_argument("\"sha256\" is not of 64 hexadecimal digits");
  }
  PJ_TRY(record.role, parse_role(json.string("role").value_or("")));
  const Json* const expires = json.find("expires_unix");
  if (expires != nullptr && !expires->is_null()) {
    const auto seconds = expires->as_integer();
    if (!seconds || *seconds <= 0) return Error::invalid_argument("\"expires_unix\" is no time");
    record.expires_unix = *seconds;
  }
  return record;
}

/// Letters that are told apart at a glance are not wanted here: nobody types it.
Result<std::string> new_secret() {
  std::array<unsigned char, kSecretBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return Error::from_errno(errno, "the system gives no random bytes");
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string secret = "pj_";
  for (const unsigned char byte : bytes) {
    secret += kDigits[byte >> 4U];
    secret += kDigits[byte & 0xfU];
  }
  return secret;
}

/// One at a time changes the tokens: a lock beside the file, which is replaced as a whole.
Result<FileDescriptor> lock_tokens(const std::string& file) {
  FileDescriptor lock(::open((file + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid() || ::flock(lock.get(), LOCK_EX) != 0) {
    return Error::from_errno(errno, "cannot lock " + file);
  }
  return lock;
}

Outcome write_tokens(const std::string& file, const std::vector<TokenRecord>& records) {
  struct stat before {};
  const bool is_there = ::stat(file.c_str(), &before) == 0;
  std::string text;
  for (const TokenRecord& record : records) text += to_line(record);
  const mode_t found = ::umask(0077);
  Outcome written = write_file_atomically(file, text);
  ::umask(found);
  // Whose it was it stays, the daemon's group's among them.
  if (written && is_there && ::chown(file.c_str(), before.st_uid, before.st_gid) != 0) {
    return Error::from_errno(errno, "cannot give " + file + " back to its owner");
  }
  if (written && is_there) ::chmod(file.c_str(), before.st_mode & 0640U);
  return written;
}

Result<std::vector<TokenRecord>> tokens_so_far(const std::string& file) {
  if (!path_exists(file)) return std::vector<TokenRecord>();
  return read_tokens(file);
}

}  // namespace

Result<std::vector<TokenRecord>> parse_tokens(std::string_view text, const std::string& file) {
  std::vector<TokenRecord> records;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    const std::string place = file + ", line " + std::to_string(number);
    const auto json = parse_json(line);
    if (!json) return fail(json, place);
    auto record = record_of(*json);
    if (!record) return fail(record, place);
    const bool is_known = std::any_of(records.begin(), records.end(),
                                      [&](const auto& one) { return one.name == record->name; });
    if (is_known) {
      return Error::invalid_argument(place + ": a second token is called " + record->name);
    }
    records.push_back(std::move(*record));
  }
  return records;
}

Result<std::vector<TokenRecord>> read_tokens(const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) == 0 && (found.st_mode & 0027U) != 0) {
    return Error::permission_denied("others may read or write the tokens' file " + file,
                                    "chmod 600 " + file);
  }
  PJ_TRY(const std::string text, read_file(file, kMostBytes));
  return parse_tokens(text, file);
}

Result<std::string> add_token(const std::string& file, const std::string& name, Role role,
                              std::int64_t expires_unix) {
  PJ_TRY(const FileDescriptor lock, lock_tokens(file));
  PJ_TRY(std::vector<TokenRecord> records, tokens_so_far(file));
  for (const TokenRecord& record : records) {
    if (record.name == name) return Error::conflict("a token is called " + name + " already");
  }
  PJ_TRY(std::string secret, new_secret());
  PJ_TRY(std::string digest, sha256_hex(secret));
  records.push_back({name, role, std::move(digest), expires_unix});
  PJ_CHECK(write_tokens(file, records));
  return secret;
}

Outcome remove_token(const std::string& file, const std::string& name) {
  PJ_TRY(const FileDescriptor lock, lock_tokens(file));
  PJ_TRY(std::vector<TokenRecord> records, tokens_so_far(file));
  const auto gone =
      std::erase_if(records, [&](const TokenRecord& record) { return record.name == name; });
  if (gone == 0) return Error::not_found("no token is called " + name + " in " + file);
  return write_tokens(file, records);
}

}  // namespace perjoule
