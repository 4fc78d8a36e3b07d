#include "store/identity/directory_identity.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/checksum.h"
#include "base/durable_file.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/random.h"

namespace plimsoll::store {
namespace {

constexpr size_t kIdBytes = 16;
constexpr uint64_t kMaxFileBytes = uint64_t{64} << 10;  // some hundred shards

constexpr std::string_view kDirectoryLine = "directory ";
constexpr std::string_view kDatabaseLine = "database ";
constexpr std::string_view kRowsLine = "rows ";
constexpr std::string_view kRowsPasswordLine = "rows-password-file ";
constexpr std::string_view kRowsCaLine = "rows-ca ";
constexpr std::string_view kRowsQuorumLine = "rows-insert-quorum ";
constexpr std::string_view kRowsShardLine = "rows-shard ";
constexpr std::string_view kRestoredLine = "restored yes";
constexpr std::string_view kChecksumLine = "checksum ";

constexpr const char* kIdentityTable =
    "CREATE TABLE IF NOT EXISTS directory_identity (id INTEGER PRIMARY KEY CHECK (id = 1), directory BLOB "
    "NOT NULL)";

std::string text_of(const DirectoryIdentity& identity) {
  std::string text = fmt::format("{}{}\n", kDirectoryLine, to_hex(identity.id));
  for (const std::string& name : identity.databases) {
    text += fmt::format("{}{}\n", kDatabaseLine, name);
  }
  for (const auto& [line, value] : {std::pair(kRowsLine, &identity.rows.address),
                                    {kRowsPasswordLine, &identity.rows.password_file},
                                    {kRowsCaLine, &identity.rows.ca}}) {
    text += value->empty() ? "" : fmt::format("{}{}\n", line, *value);
  }
  if (identity.rows.is_replicated()) {
    text += fmt::format("{}{}\n", kRowsQuorumLine, identity.rows.insert_quorum);
  }
  for (const std::string& shard : identity.rows.shards) {
    text += fmt::format("{}{}\n", kRowsShardLine, shard);
  }
  text += identity.is_restored ? fmt::format("{}\n", kRestoredLine) : "";
  return text + fmt::format("{}{:016x}\n", kChecksumLine, checksum64(as_bytes(text)));
}

// Without an ID where it is no such text. What it means is checked against the text that it would be written as.
DirectoryIdentity parse(std::string_view text) {
  DirectoryIdentity identity;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (line.starts_with(kDirectoryLine)) {
      identity.id = from_hex(line.substr(kDirectoryLine.size())).value_or("");
    } else if (line.starts_with(kDatabaseLine)) {
      identity.databases.emplace_back(line.substr(kDatabaseLine.size()));
    } else if (line.starts_with(kRowsLine)) {
      identity.rows.address = line.substr(kRowsLine.size());
    } else if (line.starts_with(kRowsPasswordLine)) {
      identity.rows.password_file = line.substr(kRowsPasswordLine.size());
    } else if (line.starts_with(kRowsCaLine)) {
      identity.rows.ca = line.substr(kRowsCaLine.size());
    } else if (line.starts_with(kRowsQuorumLine)) {
      std::from_chars(line.data() + kRowsQuorumLine.size(), line.data() + line.size(),
                      identity.rows.insert_quorum);
    } else if (line.starts_with(kRowsShardLine)) {
      identity.rows.shards.emplace_back(line.substr(kRowsShardLine.size()));
    } else if (line == kRestoredLine) {
      identity.is_restored = true;
    }
  }
  return identity.id.size() == kIdBytes && text_of(identity) == text ? identity : DirectoryIdentity();
}

}  // namespace

bool DirectoryIdentity::lists(std::string_view name) const {
  return std::ranges::find(databases, name) != databases.end();
}

std::string identity_path(const std::string& data_dir) {
  return data_dir + "/identity";
}

DirectoryIdentity make_identity() {
  return {.id = random_bytes(kIdBytes)};
}

Result<DirectoryIdentity> read_identity(const std::string& data_dir) {
  const auto text = read_file(identity_path(data_dir), kMaxFileBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) {
    return DirectoryIdentity();
  }
  if (!text) {
    return propagate(text, "reading the directory's ID");
  }
  auto identity = parse(*text);
  if (!identity.is_there()) {
    return with_hint(fail(ErrorCode::kCorrupt, "{} is damaged: its checksum does not match its lines",
                          identity_path(data_dir)),
                     "copy the file from a backup of this directory");
  }
  return identity;
}

Status write_identity(const std::string& data_dir, const DirectoryIdentity& identity) {
  if (parse(text_of(identity)) != identity) {
    return fail(ErrorCode::kInvalid, "names of files must have no line breaks");
  }
  return write_file_durably(identity_path(data_dir), as_bytes(text_of(identity)));
}

Status note_restored(const std::string& data_dir) {
  auto identity = read_identity(data_dir);
  if (!identity || identity->is_restored || !identity->rows.is_elsewhere()) {
    return identity ? Status() : propagate(identity);
  }
  identity->is_restored = true;
  return write_identity(data_dir, *identity);
}

Result<std::string> directory_id_of(sqlite::Database& database) {
  const auto has_table = database.has_table("directory_identity");
  if (!has_table || !*has_table) {
    return has_table ? Result<std::string>("") : propagate(has_table);
  }
  std::string id;
  const Status read = sqlite::for_each_row(database.query("SELECT directory FROM directory_identity"),
                                           [&](const sqlite::Statement& row) { id = row.blob(0); });
  return read ? Result<std::string>(id) : propagate(read);
}

Status give_directory_id(sqlite::Database& database, std::string_view id) {
  const Status made = database.run(kIdentityTable);
  return made ? database.execute("INSERT OR IGNORE INTO directory_identity VALUES (1, ?)", as_bytes(id))
              : made;
}

}  // namespace plimsoll::store
