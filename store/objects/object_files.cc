#include "store/objects/object_files.h"

#include <algorithm>

#include "base/checksum.h"
#include "base/hex.h"

namespace plimsoll::store {
namespace {

constexpr size_t kFileHashDigits = 32;

// Takes ".DIGITS" off the end; false where there is none.
bool take_number(std::string_view& text) {
  const size_t end = text.find_last_not_of("0123456789");
  const bool is_number = end != std::string_view::npos && end + 1 < text.size() && text[end] == '.';
  text = is_number ? text.substr(0, end) : text;
  return is_number;
}

}  // namespace

bool is_file_key(std::string_view key) {
  if (!key.starts_with(kFilesPrefix) || !objects::is_object_key(key)) {
    return false;
  }
  std::string_view rest = key.substr(std::string_view(kFilesPrefix).size());
  // write_file_durably() makes "PATH.PID.tmp".
  constexpr std::string_view kTemporary = ".tmp";
  if (rest.ends_with(kTemporary)) {
    rest.remove_suffix(kTemporary.size());
    if (!take_number(rest)) {
      return false;
    }
  }
  if (!take_number(rest) || rest.size() < kFileHashDigits + 2) {
    return false;
  }
  const std::string_view hash = rest.substr(rest.size() - kFileHashDigits);
  const std::string_view path = rest.substr(0, rest.size() - kFileHashDigits - 1);
  const bool has_hash =
      rest[path.size()] == '.' && hash.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  const std::string_view folder = path.substr(0, path.find('/') + 1);  // empty: the path is a name alone
  return has_hash && (folder.empty() || folder == "blocks/" || folder == "packs/" || folder == "symtab/");
}

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
    if (!part && part.error().code == ErrorCode::kTooLarge) {
      return fail(ErrorCode::kCorrupt, "the object {} has more than the {} bytes that were put", key,
                  expected);
    }
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
