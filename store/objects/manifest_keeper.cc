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

Status ManifestKeeper::begin(const std::string& directory_id,
                             const std::function<Status(const Manifest& stored)>& check) {
  if (superseded_) {
    return std::unexpected(*superseded_);
  }
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
    auto failed = propagate(found, "reading what the object store has");
    return found.error().code == ErrorCode::kCorrupt
               ? with_hint(std::move(failed),
                           "delete the object \"manifest\": everything is copied again then")
               : failed;
  }
  if (found->directory_id != directory_id) {
    return with_hint(
        fail(ErrorCode::kConflict, "the object store has data directory {}, and this is {}",
             to_hex(found->directory_id), to_hex(directory_id)),
        "give this server another prefix in objects.address, or restore that directory from the store");
  }
  if (const Status checked = check(*found); !checked) {
    return checked;
  }
  // At once: a process that goes on would remove objects which the first manifest of this one will name.
  if (!is_new && found->writer != writer_) {
    found->writer = writer_;
    if (const Status taken = store_.put(kManifestKey, as_bytes(to_text(*found))); !taken) {
      return propagate(taken, "taking over the manifest");
    }
  }
  manifest_ = *std::move(found);
  has_begun_ = true;
  return {};
}

// Two processes that write the same directory, after it was restored say, would each remove what the other one has put.
Status ManifestKeeper::expect_own() {
  const auto text = store_.get(kManifestKey, objects::kMaxObjectBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) {
    if (manifest_.writer.empty()) {
      return {};
    }
    // The objects that it named may be gone, too.
    has_begun_ = false;
    has_removed_unlisted_ = false;
    return with_hint(fail(ErrorCode::kUnavailable, "the object \"{}\" is gone", kManifestKey),
                     "everything is copied again: find out what removes objects there");
  }
  const auto found = text ? parse_manifest(*text) : propagate(text);
  if (!found) {
    return propagate(found);
  }
  if (found->directory_id == manifest_.directory_id && found->writer == writer_) {
    return {};
  }
  has_begun_ = false;
  const auto superseded =
      with_hint(fail(ErrorCode::kConflict, "another server writes to objects.address by now"),
                "stop one of the two; the other goes on after its next start");
  superseded_ = superseded.error();
  return superseded;
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
  if (next != manifest_ || may_have_another_) {
    next.written_ns = draft.now_ns();
    if (const Status own = expect_own(); !own) {
      return propagate(own, "writing the manifest");
    }
    may_have_another_ = true;
    if (const Status put = store_.put(kManifestKey, as_bytes(to_text(next))); !put) {
      return propagate(put, "writing the manifest");
    }
    may_have_another_ = false;
    manifest_ = next;
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
  // No manifest names what could not be removed: the next pass looks for it.
  has_removed_unlisted_ = removed.has_value();
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
    // What is of no such form is another's, or one's own of a prefix below this one.
    const bool is_left = is_file_key(object.key) && !listed.contains(object.key);
    const Status removed = is_left ? store_.remove(object.key) : Status();
    if (!removed) {
      return removed;
    }
  }
  return {};
}

}  // namespace plimsoll::store
