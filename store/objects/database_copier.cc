#include "store/objects/database_copier.h"

#include "base/byte_reader.h"
#include "base/file.h"
#include "sqlite/database.h"
#include "store/catalogue/file_version.h"
#include "store/identity/directory_identity.h"
#include "store/objects/copied_file.h"

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
  const bool is_due = draft.now_ns() >= next_ns_;
  for (const std::string& name : identity->databases) {
    const bool is_copied = name == "archive.db" || (!is_due && draft.manifest().files.contains(name));
    if (const Status copied = is_copied ? Status() : copy_database(name, draft); !copied) {
      return propagate(copied, "copying {}/{} to the object store", data_dir_, name);
    }
  }
  next_ns_ = is_due ? draft.now_ns() + options_.database_pause_ns : next_ns_;
  const Status put_format = draft.put("FORMAT", as_bytes(*format), 0);
  return put_format ? draft.put("identity", as_bytes(*text), 0) : put_format;
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
  const auto content = copied ? MappedFile::open(copy.path(), kMaxCopiedBytes) : propagate(copied);
  return content ? draft.put(name, content->bytes(), *version) : propagate(content);
}

}  // namespace plimsoll::store
