#include "store/objects/database_copier.h"

#include "base/byte_reader.h"
#include "base/file.h"
#include "sqlite/database.h"
#include "store/catalogue/file_version.h"
#include "store/identity/directory_identity.h"
#include "store/objects/copied_file.h"
#include "store/objects/manifest.h"

namespace plimsoll::store {
namespace {

constexpr uint64_t kMaxSmallBytes = uint64_t{64} << 10;  // of FORMAT and identity

}  // namespace

Status DatabaseCopier::copy(CopyDraft& draft) {
  const auto format = read_file(data_dir_ + "/FORMAT", kMaxSmallBytes);
  const auto text = format ? read_file(identity_path(data_dir_), kMaxSmallBytes) : propagate(format);
  const auto identity = text ? read_identity(data_dir_) : propagate(text);
  if (!identity) {
    return propagate(identity);
  }
  // The clock may have been set back.
  const int64_t now_ns = draft.now_ns();
  const bool is_due = now_ns >= next_ns_ || now_ns < next_ns_ - options_.database_pause_ns;
  Status all;
  for (const std::string& name : identity->databases) {
    const bool was_copied = draft.manifest().files.contains(name);
    const bool is_copied = name == "archive.db" || (!is_due && was_copied);
    const Status copied = is_copied ? Status() : copy_database(name, draft);
    all = all && !copied ? propagate(copied, "copying {}/{}", data_dir_, name) : all;
    if (!copied && !was_copied) {
      return all;
    }
  }
  next_ns_ = is_due && all ? now_ns + options_.database_pause_ns : next_ns_;
  Status put = draft.put("FORMAT", as_bytes(*format), 0);
  put = put ? draft.put("identity", as_bytes(*text), 0) : put;
  if (!put) {
    return put;
  }
  draft.manifest().rows = identity->rows.address;
  return all;
}

Status DatabaseCopier::copy_database(const std::string& name, CopyDraft& draft) const {
  const std::string path = fmt::format("{}/{}", data_dir_, name);
  const auto version = file_version(path);
  if (!version) {
    return propagate(version);
  }
  const auto known = draft.manifest().files.find(name);
  if (known != draft.manifest().files.end() && known->second.version == *version) {
    return {};
  }
  const TemporaryCopy copy(data_dir_, name);
  auto database = sqlite::Database::open(path, sqlite::OpenMode::kRead);
  const auto transaction = database ? sqlite::Transaction::begin_read(*database) : propagate(database);
  const Status copied = transaction ? database->copy_to(copy.path()) : propagate(transaction);
  const auto content = copied ? MappedFile::open(copy.path(), kMaxStoredBytes) : propagate(copied);
  return content ? draft.put(name, content->bytes(), *version) : propagate(content);
}

}  // namespace plimsoll::store
