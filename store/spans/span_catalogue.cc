#include "store/spans/span_catalogue.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/byte_reader.h"
#include "base/log.h"
#include "store/blocks/hidden_files.h"
#include "store/identity/directory_identity.h"
#include "store/segments/segment_file.h"

namespace plimsoll::store {
namespace {

// Dictionary IDs are dense and start at 1.
constexpr const char* kSpanSchema = R"sql(
CREATE TABLE IF NOT EXISTS text (  -- names; kind: store/spans/span_dictionaries.h
  kind INTEGER NOT NULL, id INTEGER NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY (kind, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS method (
  id INTEGER PRIMARY KEY,
  service INTEGER NOT NULL, operation INTEGER NOT NULL, kind INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS process (
  id INTEGER PRIMARY KEY,
  replica INTEGER NOT NULL, machine INTEGER NOT NULL, version INTEGER NOT NULL,
  weight REAL NOT NULL  -- requests that each of its spans stands for
);
CREATE TABLE IF NOT EXISTS attributes (  -- blocks of older versions have none
  id INTEGER PRIMARY KEY,
  pairs BLOB NOT NULL  -- IDs of a key and of a value, 32 bits each, little-endian
);
CREATE TABLE IF NOT EXISTS segment (
  id INTEGER PRIMARY KEY,
  file TEXT NOT NULL UNIQUE, spans INTEGER NOT NULL, bytes INTEGER NOT NULL,
  from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS recent (  -- batches that are in no segment yet
  sequence INTEGER PRIMARY KEY,
  written_ns INTEGER NOT NULL, spans INTEGER NOT NULL, records BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS block (  -- no row: nothing has been written yet
  id INTEGER PRIMARY KEY CHECK (id = 1),
  is_sealed INTEGER NOT NULL,
  first_written_ns INTEGER NOT NULL, last_written_ns INTEGER NOT NULL,  -- wall clock of the writer
  from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL                      -- that its spans touch
);
)sql";

template <typename Value>
void put_value(const Value& value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

constexpr size_t kRecordBytes = 62;
// Of older versions: without attributes.
constexpr size_t kOldRecordBytes = 58;

std::string encode_records(std::span<const SpanRecord> spans) {
  std::string bytes;
  bytes.reserve(spans.size() * kRecordBytes);
  for (const SpanRecord& span : spans) {
    put_value(span.trace.high, bytes);
    put_value(span.trace.low, bytes);
    put_value(span.id, bytes);
    put_value(span.parent, bytes);
    put_value(span.start_ns, bytes);
    put_value(span.end_ns, bytes);
    put_value(span.method, bytes);
    put_value(span.process, bytes);
    put_value(static_cast<uint8_t>(span.status), bytes);
    put_value(static_cast<uint8_t>(span.is_shared ? 1 : 0), bytes);
    put_value(span.attributes, bytes);
  }
  return bytes;
}

SpanRecord read_record(ByteReader& reader, bool has_attributes) {
  SpanRecord span;
  span.trace.high = reader.read<uint64_t>();
  span.trace.low = reader.read<uint64_t>();
  span.id = reader.read<uint64_t>();
  span.parent = reader.read<uint64_t>();
  span.start_ns = reader.read<int64_t>();
  span.end_ns = reader.read<int64_t>();
  span.method = reader.read<uint32_t>();
  span.process = reader.read<uint32_t>();
  span.status = static_cast<traces::SpanStatus>(reader.read<uint8_t>());
  span.is_shared = reader.read<uint8_t>() != 0;
  span.attributes = has_attributes ? reader.read<uint32_t>() : 0;
  return span;
}

bool is_sound(const SpanRecord& span, const SpanDictionaries::Sizes& sizes) {
  return is_possible(span) && span.method < sizes.methods && span.process < sizes.processes &&
         span.attributes < sizes.attribute_sets && span.status <= traces::SpanStatus::kError;
}

// Rows of a dictionary beyond the last ID that is known.
template <typename Add>
Status read_entries(Result<sqlite::Statement> rows, uint32_t next_id, std::string_view what, Add add) {
  return sqlite::for_each_row(std::move(rows), [&](const sqlite::Statement& row) -> Status {
    if (row.integer(0) != next_id || !add(row)) {
      return fail(ErrorCode::kCorrupt, "the {} {} of a block of spans do not follow each other", what,
                  row.integer(0));
    }
    ++next_id;
    return {};
  });
}

std::string encode_attributes(std::span<const SpanAttribute> attributes) {
  std::string bytes;
  for (const SpanAttribute& attribute : attributes) {
    put_value(attribute.key, bytes);
    put_value(attribute.value, bytes);
  }
  return bytes;
}

bool add_attribute_row(const sqlite::Statement& row, SpanDictionaries& dictionaries) {
  const std::string pairs = row.blob(1);
  if (pairs.size() > kMaxStoredAttributes * sizeof(SpanAttribute)) {
    return false;
  }
  ByteReader reader(as_bytes(pairs));
  std::vector<SpanAttribute> attributes;
  while (reader.ok() && reader.remaining() != 0) {
    const auto key = reader.read<uint32_t>();
    attributes.push_back({key, reader.read<uint32_t>()});
  }
  return reader.ok() && dictionaries.add_attributes(attributes);
}

uint32_t number_in(const sqlite::Statement& row, int column) {
  const int64_t value = row.integer(column);
  return value < 0 || value > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(value);
}

Status remove_hidden_spans(const BlockFolder& block) {
  auto catalogue = SpanCatalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
  const auto segments = catalogue ? catalogue->segments() : propagate(catalogue);
  if (!segments) {
    return propagate(segments);
  }
  std::set<std::string> visible;
  for (const SpanSegmentEntry& segment : *segments) {
    visible.insert(segment.file);
  }
  return remove_hidden_files(block, visible);
}

}  // namespace

Result<SpanCatalogue> SpanCatalogue::open(const std::string& path, sqlite::OpenMode mode) {
  auto database = sqlite::Database::open(path, mode);
  if (!database) {
    auto failure = propagate(database);
    std::error_code error;
    // SQLite says of no file why it cannot open it. One that is there is not damaged for want of descriptors.
    if (failure.error().code == ErrorCode::kNotFound && std::filesystem::exists(path, error)) {
      failure.error().code = ErrorCode::kIo;
    }
    return failure;
  }
  if (mode == sqlite::OpenMode::kReadWrite) {
    if (const Status created = database->run(kSpanSchema); !created) {
      return propagate(created, "creating the tables of a block of spans");
    }
  }
  return SpanCatalogue(std::move(*database));
}

Result<SpanBlockState> SpanCatalogue::state() {
  SpanBlockState state;
  const Status read = sqlite::for_each_row(
      database_.query("SELECT is_sealed, first_written_ns, last_written_ns, from_ns, to_ns FROM block"),
      [&](const sqlite::Statement& row) {
        state = {.is_sealed = row.integer(0) != 0,
                 .first_written_ns = row.integer(1),
                 .last_written_ns = row.integer(2),
                 .from_ns = row.integer(3),
                 .to_ns = row.integer(4)};
      });
  if (read && (state.first_written_ns < 0 || state.last_written_ns < 0)) {
    return fail(ErrorCode::kCorrupt, "the times of {} are damaged", database_.path());
  }
  return read ? Result<SpanBlockState>(state) : propagate(read);
}

Status SpanCatalogue::write_state(const SpanBlockState& state) {
  return database_.execute("INSERT OR REPLACE INTO block VALUES (1, ?, ?, ?, ?, ?)", state.is_sealed ? 1 : 0,
                           state.first_written_ns, state.last_written_ns, state.from_ns, state.to_ns);
}

Status SpanCatalogue::read_on(SpanDictionaries& dictionaries, bool with_attributes) {
  const SpanDictionaries::Sizes known = dictionaries.sizes();
  Status read;
  for (size_t kind = 0; kind < kSpanTexts && read; ++kind) {
    const auto text = static_cast<SpanText>(kind);
    if (!with_attributes && (text == SpanText::kAttributeKey || text == SpanText::kAttributeValue)) {
      continue;
    }
    read = read_entries(database_.query("SELECT id, text FROM text WHERE kind = ? AND id >= ? ORDER BY id",
                                        kind, known.texts[kind]),
                        known.texts[kind], "names", [&](const sqlite::Statement& row) {
                          return dictionaries.add_text(text, row.text(1));
                        });
  }
  read = read ? read_entries(database_.query(
                                 "SELECT id, service, operation, kind FROM method WHERE id >= ? ORDER BY id",
                                 known.methods),
                             known.methods, "methods",
                             [&](const sqlite::Statement& row) {
                               const uint32_t kind = number_in(row, 3);
                               return kind <= static_cast<uint32_t>(traces::SpanKind::kConsumer) &&
                                      dictionaries.add_method({number_in(row, 1), number_in(row, 2),
                                                               static_cast<traces::SpanKind>(kind)});
                             })
              : read;
  const auto has_attributes =
      database_.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'attributes'", 0);
  if (read && !has_attributes) {
    return propagate(has_attributes);
  }
  if (read && *has_attributes != 0 && with_attributes) {
    read = read_entries(
        database_.query("SELECT id, pairs FROM attributes WHERE id >= ? ORDER BY id", known.attribute_sets),
        known.attribute_sets, "sets of attributes",
        [&](const sqlite::Statement& row) { return add_attribute_row(row, dictionaries); });
  }
  return read ? read_entries(database_.query("SELECT id, replica, machine, version, weight FROM process "
                                             "WHERE id >= ? ORDER BY id",
                                             known.processes),
                             known.processes, "processes",
                             [&](const sqlite::Statement& row) {
                               return dictionaries.add_process(
                                   {number_in(row, 1), number_in(row, 2), number_in(row, 3), row.real(4)});
                             })
              : read;
}

Status SpanCatalogue::write_entries(const SpanDictionaries& dictionaries,
                                    const SpanDictionaries::Sizes& before) {
  const SpanDictionaries::Sizes after = dictionaries.sizes();
  Status written;
  for (size_t kind = 0; kind < kSpanTexts; ++kind) {
    for (uint32_t id = before.texts[kind]; id < after.texts[kind] && written; ++id) {
      written = database_.execute("INSERT INTO text VALUES (?, ?, ?)", kind, id,
                                  dictionaries.text(static_cast<SpanText>(kind), id));
    }
  }
  for (uint32_t id = before.methods; id < after.methods && written; ++id) {
    const SpanMethod& method = dictionaries.method(id);
    written = database_.execute("INSERT INTO method VALUES (?, ?, ?, ?)", id, method.service,
                                method.operation, static_cast<int>(method.kind));
  }
  for (uint32_t id = before.attribute_sets; id < after.attribute_sets && written; ++id) {
    const std::string pairs = encode_attributes(dictionaries.attributes(id));
    written = database_.execute("INSERT INTO attributes VALUES (?, ?)", id, as_bytes(pairs));
  }
  for (uint32_t id = before.processes; id < after.processes && written; ++id) {
    const SpanProcess& process = dictionaries.process(id);
    written = database_.execute("INSERT INTO process VALUES (?, ?, ?, ?, ?)", id, process.replica,
                                process.machine, process.version, process.weight);
  }
  return written;
}

Status SpanCatalogue::add_recent(std::span<const SpanRecord> spans, int64_t written_ns) {
  const std::string records = encode_records(spans);
  return database_.execute("INSERT INTO recent (written_ns, spans, records) VALUES (?, ?, ?)", written_ns,
                           spans.size(), as_bytes(records));
}

Result<RecentRecords> SpanCatalogue::recent(const SpanDictionaries::Sizes& sizes, bool with_attributes) {
  RecentRecords recent;
  const Status read = sqlite::for_each_row(
      database_.query("SELECT records, spans FROM recent ORDER BY sequence"),
      [&](const sqlite::Statement& row) {
        const size_t spans_before = recent.spans.size();
        const std::string records = row.blob(0);
        ByteReader reader(as_bytes(records));
        const auto count = static_cast<uint64_t>(std::max<int64_t>(row.integer(1), 0));
        const bool has_attributes = records.size() != count * kOldRecordBytes;
        bool is_whole = true;
        while (reader.remaining() != 0 && is_whole) {
          SpanRecord span = read_record(reader, has_attributes);
          span.attributes = with_attributes ? span.attributes : 0;
          recent.spans.push_back(span);
          is_whole = reader.ok() && is_sound(recent.spans.back(), sizes);
        }
        // One that was cut between two spans has fewer.
        is_whole = is_whole && static_cast<int64_t>(recent.spans.size() - spans_before) == row.integer(1);
        if (!is_whole) {
          recent.spans.resize(spans_before);
          recent.damaged += static_cast<uint64_t>(std::max<int64_t>(row.integer(1), 1));
        }
      });
  return read ? Result<RecentRecords>(std::move(recent)) : propagate(read);
}

Result<RecentSpans> SpanCatalogue::count_recent() {
  RecentSpans recent;
  const Status read = sqlite::for_each_row(
      database_.query("SELECT coalesce(sum(spans), 0), coalesce(min(written_ns), 0) FROM recent"),
      [&](const sqlite::Statement& row) {
        recent = {.spans = static_cast<uint64_t>(row.integer(0)), .first_written_ns = row.integer(1)};
      });
  if (read && recent.first_written_ns < 0) {
    return fail(ErrorCode::kCorrupt, "the times of recent spans in {} are damaged", database_.path());
  }
  return read ? Result<RecentSpans>(recent) : propagate(read);
}

Status SpanCatalogue::clear_recent() {
  return database_.execute("DELETE FROM recent");
}

Result<std::vector<SpanSegmentEntry>> SpanCatalogue::segments() {
  std::vector<SpanSegmentEntry> segments;
  const Status read = sqlite::for_each_row(
      database_.query("SELECT id, file, spans, bytes, from_ns, to_ns FROM segment ORDER BY id"),
      [&](const sqlite::Statement& row) {
        segments.push_back({.id = row.integer(0),
                            .file = std::string(row.text(1)),
                            .spans = static_cast<uint64_t>(row.integer(2)),
                            .bytes = static_cast<uint64_t>(row.integer(3)),
                            .from_ns = row.integer(4),
                            .to_ns = row.integer(5)});
      });
  return read ? Result<std::vector<SpanSegmentEntry>>(std::move(segments)) : propagate(read);
}

Status SpanCatalogue::add_segment(const SpanSegmentEntry& segment) {
  return database_.execute("INSERT INTO segment (file, spans, bytes, from_ns, to_ns) VALUES (?, ?, ?, ?, ?)",
                           segment.file, segment.spans, segment.bytes, segment.from_ns, segment.to_ns);
}

Status SpanCatalogue::replace_segments(std::span<const SpanSegmentEntry> inputs,
                                       const SpanSegmentEntry& output) {
  // First the new one: an ID that is free again would be given again.
  if (Status added = add_segment(output); !added) {
    return added;
  }
  for (const SpanSegmentEntry& input : inputs) {
    const auto deleted = database_.integer("DELETE FROM segment WHERE id = ? AND file = ? RETURNING id", 0,
                                           input.id, input.file);
    if (!deleted) {
      return propagate(deleted);
    }
    if (*deleted != input.id) {
      return fail(ErrorCode::kConflict, "segment {} of spans is no longer visible", input.file);
    }
  }
  return {};
}

Result<bool> SpanCatalogue::shows(std::string_view file) {
  const auto count = database_.integer("SELECT count(*) FROM segment WHERE file = ?", 0, file);
  return count ? Result<bool>(*count > 0) : propagate(count);
}

Result<uint64_t> SpanCatalogue::bytes() {
  const auto pages = database_.integer("PRAGMA page_count", 0);
  const auto page_bytes = database_.integer("PRAGMA page_size", 0);
  const auto segment_bytes = database_.integer("SELECT coalesce(sum(bytes), 0) FROM segment", 0);
  for (const auto* number : {&pages, &page_bytes, &segment_bytes}) {
    if (!*number) {
      return propagate(*number, "measuring a block of spans");
    }
  }
  return static_cast<uint64_t>(*pages * *page_bytes + *segment_bytes);
}

Result<std::vector<BlockFolder>> list_span_blocks(const std::string& spans_path) {
  std::error_code error;
  bool has_block = false;
  for (std::filesystem::directory_iterator entry(spans_path, error), end; !error && entry != end;
       entry.increment(error)) {
    has_block = has_block || block_at(entry->path().string()).number != 0;
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return fail_errno(error.value(), "listing {}", spans_path);
  }
  return has_block ? list_blocks(spans_path) : Result<std::vector<BlockFolder>>(std::vector<BlockFolder>());
}

Result<BlockFolder> make_span_block(const std::string& spans_path, int64_t number,
                                    const std::string& directory_id) {
  // Closed again, so that its folder may be renamed.
  return make_block_by(spans_path, number, [&](const BlockFolder& made) -> Status {
    auto catalogue = SpanCatalogue::open(made.catalogue_path(), sqlite::OpenMode::kReadWrite);
    return catalogue ? give_directory_id(catalogue->database(), directory_id) : propagate(catalogue);
  });
}

Status remove_span_leftovers(const std::string& spans_path) {
  std::error_code error;
  if (!std::filesystem::exists(spans_path, error)) {
    return error ? Status(fail_errno(error.value(), "looking for {}", spans_path)) : Status();
  }
  Status removed = remove_dropped(spans_path);
  removed = removed ? remove_replaced(spans_path) : removed;
  const auto blocks = removed ? list_span_blocks(spans_path) : propagate(removed);
  // Damage costs answers its own. It must not keep a server from its profiles.
  if (!blocks) {
    log_error("{}", blocks.error().text());
    return is_damage(blocks.error()) ? Status() : propagate(blocks);
  }
  for (const BlockFolder& block : *blocks) {
    const Status hidden = remove_hidden_spans(block);
    if (!hidden) {
      log_error("{}", hidden.error().text());
    }
    if (!hidden && block == blocks->back() && !is_damage(hidden.error())) {
      return hidden;
    }
  }
  return {};
}

}  // namespace plimsoll::store
