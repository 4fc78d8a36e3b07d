#include "store/objects/object_files.h"

#include <algorithm>

#include "base/checksum.h"
#include "base/hex.h"

namespace plimsoll::store {

std::vector<std::string> object_keys(const std::string& path, const StoredFile& file) {
  std::vector<std::string> keys;
  uint64_t begin = 0;
  do {
    keys.push_back(fmt::format("{}{}.{}.{}", kFilesPrefix, path, file.hash, keys.size()));
    begin += kPartBytes;
  } while (begin < file.bytes);
  return keys;
}

StoredFile described(Bytes content, int64_t version) {
  return {.bytes = content.size(), .hash = to_hex(content_hash(content)), .version = version};
}

Status put_file(objects::ObjectStore& store, const std::string& path, const StoredFile& file, Bytes content) {
  for (const std::string& key : object_keys(path, file)) {
    const Bytes part = content.first(std::min<size_t>(kPartBytes, content.size()));
    if (const Status put = store.put(key, part); !put) {
      return put;
    }
    content = content.subspan(part.size());
  }
  return {};
}

Status get_file(objects::ObjectStore& store, const std::string& path, const StoredFile& file,
                const WritePiece& write) {
  ContentHasher hasher;
  uint64_t left = file.bytes;
  for (const std::string& key : object_keys(path, file)) {
    const uint64_t expected = std::min(left, kPartBytes);
    const auto part = store.get(key, expected);
    if (!part) {
      return propagate(part);
    }
    if (part->size() != expected) {
      return fail(ErrorCode::kCorrupt, "the object {} has {} bytes instead of {}", key, part->size(),
                  expected);
    }
    hasher.add(as_bytes(*part));
    if (const Status written = write(as_bytes(*part)); !written) {
      return written;
    }
    left -= expected;
  }
  return to_hex(hasher.hash()) == file.hash
             ? Status()
             : fail(ErrorCode::kCorrupt, "{} in the object store is damaged: its hash is not {}", path,
                    file.hash);
}

Status remove_file(objects::ObjectStore& store, const std::string& path, const StoredFile& file) {
  Status removed;
  for (const std::string& key : object_keys(path, file)) {
    removed = removed ? store.remove(key) : removed;
  }
  return removed;
}

}  // namespace plimsoll::store
