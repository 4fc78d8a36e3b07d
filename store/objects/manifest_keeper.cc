#include "store/objects/manifest_keeper.h"

#include <set>
#include <utility>
#include <vector>

#include "base/hex.h"
#include "base/random.h"
#include "store/objects/object_files.h"

namespace plimsoll::store {
namespace {

constexpr size_t kWriterBytes = 16;

}  // namespace

ManifestKeeper::ManifestKeeper(objects::ObjectStore& store)
    : store_(store), writer_(random_bytes(kWriterBytes)) {}

Status ManifestKeeper::begin(const std::string& directory_id) {
  if (has_begun_) {
    return {};
  }
  const auto text = store_.get(kManifestKey, objects::kMaxObjectBytes);
  const bool is_new = !text && text.error().code == ErrorCode::kNotFound;
  if (!text && !is_new) {
    return propagate(text);
  }
  auto found = is_new ? Result<Manifest>(Manifest{.directory_id = directory_id}) : parse_manifest(*text);
  if (!found) {
    return propagate(found, "reading what the object store has");
  }
  if (found->directory_id != directory_id) {
    return with_hint(
        fail(ErrorCode::kConflict, "the object store has data directory {}, and this is {}",
             to_hex(found->directory_id), to_hex(directory_id)),
        "give this server another prefix in objects.address, or restore that directory from the store");
  }
  found_writer_ = found->writer;
  manifest_ = *std::move(found);
  has_begun_ = true;
  return {};
}

// Two processes that write the same directory, after it was restored say, would each remove what the other one has put.
Status ManifestKeeper::expect_own() const {
  const auto text = store_.get(kManifestKey, objects::kMaxObjectBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) {
    return {};
  }
  const auto found = text ? parse_manifest(*text) : propagate(text);
  if (!found) {
    return propagate(found);
  }
  const bool is_own = found->directory_id == manifest_.directory_id &&
                      (found->writer == writer_ || found->writer == found_writer_);
  return is_own ? Status()
                : with_hint(fail(ErrorCode::kConflict, "another server writes to objects.address by now"),
                            "stop one of the two; the other goes on after its next start");
}

Status ManifestKeeper::write(CopyDraft& draft) {
  Manifest& next = draft.manifest();
  std::vector<LeavingFile> due;
  std::erase_if(next.leaving, [&](const LeavingFile& leaving) {
    const bool is_due = leaving.remove_at_ns <= draft.now_ns();
    if (is_due) {
      due.push_back(leaving);
    }
    return is_due;
  });
  next.writer = writer_;
  if (next != manifest_) {
    next.written_ns = draft.now_ns();
    Status written = expect_own();
    written = written ? store_.put(kManifestKey, as_bytes(to_text(next))) : written;
    if (!written) {
      return propagate(written, "writing the manifest");
    }
    manifest_ = next;
    // A writer that takes over from now on has another ID.
    found_writer_ = writer_;
  }
  Status removed;
  for (const LeavingFile& leaving : due) {
    removed = removed ? remove_file(store_, leaving.path, leaving.file) : removed;
  }
  // Of passes that failed.
  for (const auto& [path, file] : draft.take_put()) {
    const auto listed = manifest_.files.find(path);
    const bool is_listed = listed != manifest_.files.end() && listed->second.hash == file.hash;
    removed = removed && !is_listed ? remove_file(store_, path, file) : removed;
  }
  removed = removed && !has_removed_unlisted_ ? remove_unlisted() : removed;
  has_removed_unlisted_ = has_removed_unlisted_ || removed;
  return removed ? Status() : propagate(removed, "removing old objects");
}

Status ManifestKeeper::remove_unlisted() {
  std::set<std::string> listed;
  for (const auto& [path, file] : manifest_.files) {
    const std::vector<std::string> keys = object_keys(path, file);
    listed.insert(keys.begin(), keys.end());
  }
  for (const LeavingFile& leaving : manifest_.leaving) {
    const std::vector<std::string> keys = object_keys(leaving.path, leaving.file);
    listed.insert(keys.begin(), keys.end());
  }
  const auto there = store_.list(kFilesPrefix);
  if (!there) {
    return propagate(there);
  }
  for (const objects::ObjectInfo& object : *there) {
    const Status removed = listed.contains(object.key) ? Status() : store_.remove(object.key);
    if (!removed) {
      return removed;
    }
  }
  return {};
}

}  // namespace plimsoll::store
