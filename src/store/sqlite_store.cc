#include "store/sqlite_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <random>

#include "base/file.h"
#include "base/text.h"
#include "store/sqlite_open.h"

namespace perjoule {

namespace {

static_assert(std::endian::native == std::endian::little, "chunks are little-endian");

constexpr std::size_t kChunkSamples = 65'536;
constexpr std::string_view kRunColumns =
    "id, started_unix_ns, duration_s, host, command, project, unit, document";

std::string_view bytes_of(const std::vector<float>& watts, std::size_t begin, std::size_t count) {
  return std::string_view(reinterpret_cast<const char*>(watts.data() + begin),
                          count * sizeof(float));
}

Result<RunRecord> read_run(const Statement& row) {
  RunRecord run;
  run.id = row.text(0);
  run.started_unix_ns = row.integer(1);
  run.duration = Seconds(row.real(2));
  run.host = row.text(3);
  run.command = row.text(4);
  run.project = row.text(5);
  run.unit = row.text(6);
  Result<Json> document = parse_json(row.text(7));
  if (!document) return fail(document, "run " + run.id);
  run.document = std::move(*document);
  return run;
}

tl::unexpected<Error> no_such_run(std::string_view id) {
  return Error::not_found(fmt::format("no run '{}'", id),
                          "perjoule runs list shows those there are");
}

}  // namespace

Result<std::unique_ptr<Store>> SqliteStore::open(const std::string& path, StoreAccess access,
                                                 const SqliteOptions& options) {
  if (access == StoreAccess::kRead) {
    PJ_TRY(Database database, open_to_read(path, options));
    return std::unique_ptr<Store>(new SqliteStore(std::move(database)));
  }
  PJ_TRY(Database database, open_to_write(path, options));
  return std::unique_ptr<Store>(new SqliteStore(std::move(database)));
}

Result<std::int64_t> SqliteStore::check(const std::string& path, const SqliteOptions& options) {
  PJ_TRY(const Database database, open_to_read(path, options));
  PJ_TRY(Statement pages, database.prepare("PRAGMA quick_check(1)"));
  PJ_TRY(const bool answered, pages.step());
  const std::string verdict = answered ? pages.text(0) : "no answer";
  if (verdict != "ok") {
    return Error::data_loss(
        fmt::format("{}: the store is damaged: {}", path, verdict),
        fmt::format("move it away; sqlite3 {} .recover saves what can be read", path));
  }
  return database.integer("SELECT count(*) FROM run");
}

Result<std::string> SqliteStore::save_run(const RunRecord& run) {
  Transaction transaction(database_);
  PJ_CHECK(transaction.begin());
  std::string id = run.id;
  if (id.empty()) {
    // Within one millisecond 32,768 ids are possible; under the write lock a free one stays free.
    std::random_device chance;
    do {
      id = make_run_id(run.started_unix_ns, chance());
      PJ_TRY(Statement taken, database_.prepare("SELECT 1 FROM run WHERE id = ?"));
      taken.bind(1, id);
      PJ_TRY(const bool exists, taken.step());
      if (exists) id.clear();
    } while (id.empty());
  }
  PJ_CHECK(insert(run, id));
  PJ_CHECK(insert_timelines(run, id));
  PJ_CHECK(transaction.commit());
  return id;
}

Outcome SqliteStore::insert(const RunRecord& run, const std::string& id) {
  PJ_TRY(Statement row, database_.prepare(fmt::format(
                            "INSERT INTO run({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", kRunColumns)));
  const std::string document = run.document.dump();
  row.bind(1, id);
  row.bind(2, run.started_unix_ns);
  row.bind(3, run.duration.value());
  row.bind(4, run.host);
  row.bind(5, run.command);
  row.bind(6, run.project);
  row.bind(7, run.unit);
  row.bind(8, document);
  PJ_CHECK(row.step());
  PJ_TRY(Statement tag,
         database_.prepare("INSERT INTO tag(run_id, position, tag) VALUES (?, ?, ?)"));
  for (std::size_t i = 0; i < run.tags.size(); ++i) {
    tag.reset();
    tag.bind(1, id);
    tag.bind(2, static_cast<std::int64_t>(i));
    tag.bind(3, run.tags[i]);
    PJ_CHECK(tag.step());
  }
  return {};
}

Outcome SqliteStore::insert_timelines(const RunRecord& run, const std::string& id) {
  PJ_TRY(Statement timeline,
         database_.prepare("INSERT INTO timeline(run_id, position, source, t0_unix_ns, dt_s) "
                           "VALUES (?, ?, ?, ?, ?)"));
  PJ_TRY(Statement chunk,
         database_.prepare("INSERT INTO chunk(timeline, number, watts) VALUES (?, ?, ?)"));
  for (std::size_t i = 0; i < run.timelines.size(); ++i) {
    const StoredTimeline& samples = run.timelines[i];
    timeline.reset();
    timeline.bind(1, id);
    timeline.bind(2, static_cast<std::int64_t>(i));
    timeline.bind(3, samples.source);
    timeline.bind(4, samples.t0_unix_ns);
    timeline.bind(5, samples.dt.value());
    PJ_CHECK(timeline.step());
    const std::int64_t key = database_.last_row();
    for (std::size_t begin = 0; begin < samples.watts.size(); begin += kChunkSamples) {
      chunk.reset();
      chunk.bind(1, key);
      chunk.bind(2, static_cast<std::int64_t>(begin / kChunkSamples));
      chunk.bind_blob(
          3, bytes_of(samples.watts, begin, std::min(kChunkSamples, samples.watts.size() - begin)));
      PJ_CHECK(chunk.step());
    }
  }
  return {};
}

Result<std::vector<std::string>> SqliteStore::tags_of(std::string_view id) const {
  PJ_TRY(Statement query,
         database_.prepare("SELECT tag FROM tag WHERE run_id = ? ORDER BY position"));
  query.bind(1, id);
  std::vector<std::string> tags;
  for (;;) {
    PJ_TRY(const bool row, query.step());
    if (!row) return tags;
    tags.push_back(query.text(0));
  }
}

Result<std::vector<RunRecord>> SqliteStore::list_runs(const RunFilter& filter) const {
  PJ_TRY(Statement query,
         database_.prepare(fmt::format(
             "SELECT {} FROM run WHERE (?1 = '' OR project = ?1) AND (?2 = '' OR EXISTS "
             "(SELECT 1 FROM tag WHERE tag.run_id = run.id AND tag.tag = ?2)) "
             "ORDER BY started_unix_ns DESC, id DESC LIMIT ?3",
             kRunColumns)));
  query.bind(1, filter.project);
  query.bind(2, filter.tag);
  query.bind(3, filter.last == 0 ? std::int64_t{-1} : static_cast<std::int64_t>(filter.last));
  std::vector<RunRecord> runs;
  for (;;) {
    PJ_TRY(const bool row, query.step());
    if (!row) return runs;
    PJ_TRY(RunRecord run, read_run(query));
    PJ_TRY(run.tags, tags_of(run.id));
    runs.push_back(std::move(run));
  }
}

Result<RunRecord> SqliteStore::load_run(std::string_view id) const {
  PJ_TRY(Statement query,
         database_.prepare(fmt::format("SELECT {} FROM run WHERE id = ?", kRunColumns)));
  query.bind(1, id);
  PJ_TRY(const bool found, query.step());
  if (!found) return no_such_run(id);
  PJ_TRY(RunRecord run, read_run(query));
  PJ_TRY(run.tags, tags_of(id));
  PJ_TRY(Statement sources,
         database_.prepare("SELECT source FROM timeline WHERE run_id = ? ORDER BY position"));
  sources.bind(1, id);
  for (;;) {
    PJ_TRY(const bool row, sources.step());
    if (!row) return run;
    PJ_TRY(StoredTimeline timeline, samples(id, sources.text(0)));
    run.timelines.push_back(std::move(timeline));
  }
}

Outcome SqliteStore::delete_run(std::string_view id) {
  PJ_TRY(Statement erase, database_.prepare("DELETE FROM run WHERE id = ? RETURNING id"));
  erase.bind(1, id);
  PJ_TRY(const bool found, erase.step());
  if (!found) return no_such_run(id);
  PJ_CHECK(erase.step());  // to the end, where it is committed
  return {};
}

Result<StoredTimeline> SqliteStore::samples(std::string_view id, std::string_view source) const {
  PJ_TRY(Statement head, database_.prepare("SELECT key, t0_unix_ns, dt_s FROM timeline "
                                           "WHERE run_id = ? AND source = ?"));
  head.bind(1, id);
  head.bind(2, source);
  PJ_TRY(const bool found, head.step());
  if (!found) return Error::not_found(fmt::format("run '{}' has no samples of '{}'", id, source));
  StoredTimeline timeline{std::string(source), head.integer(1), Seconds(head.real(2)), {}};
  PJ_TRY(Statement chunks,
         database_.prepare("SELECT watts FROM chunk WHERE timeline = ? ORDER BY number"));
  chunks.bind(1, head.integer(0));
  for (;;) {
    PJ_TRY(const bool row, chunks.step());
    if (!row) return timeline;
    const std::string_view bytes = chunks.blob(0);
    const std::size_t before = timeline.watts.size();
    timeline.watts.resize(before + bytes.size() / sizeof(float));
    std::memcpy(timeline.watts.data() + before, bytes.data(),
                bytes.size() / sizeof(float) * sizeof(float));
  }
}

Result<std::string> SqliteStore::find_run(std::string_view word) const {
  constexpr std::string_view kLast = "last";
  if (word.substr(0, kLast.size()) == kLast) {
    std::optional<std::int64_t> back = 0;
    if (word.size() > kLast.size()) {
      back =
          word[kLast.size()] == '~' ? parse_integer(word.substr(kLast.size() + 1)) : std::nullopt;
    }
    if (!back || *back < 0)
      return Error::invalid_argument(fmt::format("not a run: '{}'", word), "write last or last~2");
    PJ_TRY(Statement query, database_.prepare("SELECT id FROM run ORDER BY started_unix_ns DESC, "
                                              "id DESC LIMIT 1 OFFSET ?"));
    query.bind(1, *back);
    PJ_TRY(const bool found, query.step());
    if (!found) return no_such_run(word);
    return query.text(0);
  }
  PJ_TRY(Statement query,
         database_.prepare("SELECT id FROM run WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id "
                           "LIMIT 4"));
  query.bind(1, word);
  std::vector<std::string> found;
  for (;;) {
    PJ_TRY(const bool row, query.step());
    if (!row) break;
    found.push_back(query.text(0));
    if (found.back() == word) return found.back();
  }
  if (found.empty() || word.empty()) return no_such_run(word);
  if (found.size() == 1) return found.front();
  return Error::invalid_argument(fmt::format("more than one run begins with '{}': {}, {}{}", word,
                                             found[0], found[1], found.size() > 2 ? ", ..." : ""),
                                 "give more of it");
}

}  // namespace perjoule
