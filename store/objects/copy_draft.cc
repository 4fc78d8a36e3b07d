#include "store/objects/copy_draft.h"

#include "base/time.h"
#include "store/objects/object_files.h"

namespace plimsoll::store {

void CopyDraft::begin(const Manifest& stored) {
  manifest_ = stored;
  report_ = {};
}

Status CopyDraft::put(const std::string& path, Bytes content, int64_t version) {
  const StoredFile file = described(content, version);
  const auto known = manifest_.files.find(path);
  if (known == manifest_.files.end() || known->second.hash != file.hash) {
    put_.emplace_back(path, file);
    if (const Status stored = put_file(store_, path, file, content); !stored) {
      return stored;
    }
    ++report_.files;
    report_.bytes += file.bytes;
  }
  manifest_.set(path, file, now_ns());
  return {};
}

void CopyDraft::drop(const std::string& path) {
  manifest_.drop(path, now_ns() + options_.keep_dropped_ns);
}

void CopyDraft::drop_replaced(const std::string& path) {
  manifest_.drop(path, now_ns() + kReadersNs);
}

bool CopyDraft::is_over_budget() {
  const bool is_over = report_.bytes >= options_.pass_bytes;
  report_.is_complete = report_.is_complete && !is_over;
  return is_over;
}

}  // namespace plimsoll::store
