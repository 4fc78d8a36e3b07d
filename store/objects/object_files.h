// Files of a data directory as objects: in parts, so that none is in memory as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/durable_file.h"
#include "base/result.h"
#include "objects/object_store.h"
#include "store/objects/manifest.h"

namespace plimsoll::store {

inline constexpr uint64_t kPartBytes = uint64_t{16} << 20;
inline constexpr const char* kFilesPrefix = "files/";

// Of the parts of a file, in order; at least one.
std::vector<std::string> object_keys(const std::string& path, const StoredFile& file);

// Whether it has the form of object_keys(), or of what a folder keeps of such an object that was put only in part.
bool is_file_key(std::string_view key);

StoredFile described(Bytes content, int64_t version);

Status put_file(objects::ObjectStore& store, const std::string& path, const StoredFile& file, Bytes content);

// Hands its parts to `write`, in order. kCorrupt where the content is not what was put there; a part of it was handed over then.
Status get_file(objects::ObjectStore& store, const std::string& path, const StoredFile& file,
                const WritePiece& write);

Status remove_file(objects::ObjectStore& store, const std::string& path, const StoredFile& file);

}  // namespace plimsoll::store
