#include "store/objects/copy_draft.h"

#include <algorithm>

#include "store/objects/object_files.h"

namespace plimsoll::store {
namespace {

// So many times as fast as putting: after a restore each file has another version, and all of them are read again.
constexpr uint64_t kReadPerPut = 16;

}  // namespace

void CopyDraft::begin(const Manifest& stored) {
  manifest_ = stored;
  report_ = {};
  reread_bytes_ = 0;
}

Status CopyDraft::put(const std::string& path, Bytes content, int64_t version) {
  const StoredFile file = described(content, version);
  const auto known = manifest_.files.find(path);
  if (known != manifest_.files.end() && known->second.hash == file.hash) {
    // That it is the same took reading it, unless its version said so.
    reread_bytes_ += known->second.version == version ? 0 : file.bytes;
  } else {
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

void CopyDraft::shorten_leaving() {
  const int64_t latest_ns = now_ns() + std::max(options_.keep_dropped_ns, kReadersNs);
  for (LeavingFile& leaving : manifest_.leaving) {
    leaving.remove_at_ns = std::min(leaving.remove_at_ns, latest_ns);
  }
}

bool CopyDraft::is_over_budget() {
  const bool is_over = report_.bytes + reread_bytes_ / kReadPerPut >= options_.pass_bytes;
  report_.is_complete = report_.is_complete && !is_over;
  return is_over;
}

}  // namespace plimsoll::store
