// What the repository of binaries wants to know of a file before it keeps it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"
#include "store/model/bindings.h"

namespace plimsoll::symbolizer {

// A separate debug file has the names, and not the code, of the executable (or shared library) with the same build ID. Sources: an archive of
// its source files (source_archive.h).
enum class BinaryKind : uint8_t { kExecutable, kDebug, kSources };
inline constexpr std::array kBinaryKinds{BinaryKind::kExecutable, BinaryKind::kDebug, BinaryKind::kSources};

// "executable", "debug", "sources".
std::string_view name_of(BinaryKind kind);

struct BinaryFacts {
  std::string build_id;  // bytes
  BinaryKind kind = BinaryKind::kExecutable;
  // Which symbols it has by itself. Of DWARF only the presence of its sections counts, which is no promise that it can be read.
  store::SymbolQuality quality = store::SymbolQuality::kNone;
  uint64_t size_bytes = 0;
  std::string content_hash;  // content_hash() of base/checksum.h
  std::string htl_hash;  // of elf/hashes/htl_hash.h; of a part, that of the whole file, as the part has it
  // A debug file that a machine has made of an executable (elf/binary_part.h).
  bool is_part = false;
};

// Build IDs have at least so many bytes: shorter ones have no place in a folder by build ID. Linkers make 8 to 20, users up to 64.
inline constexpr size_t kMinBuildIdBytes = 4;
inline constexpr size_t kMaxBuildIdBytes = 64;

// Reads all of the bytes, which are not trusted. kCorrupt for what is no ELF file, kUnsupported for a file without a build ID. `name` is for
// errors.
Result<BinaryFacts> examine_binary(Bytes image, std::string_view name);

// As examine_binary(), or of an archive of sources, which does not say of which build it is: `build_id` does. kInvalid for one without a
// `build_id`.
Result<BinaryFacts> examine_file(Bytes image, std::string_view build_id, std::string_view name);

}  // namespace plimsoll::symbolizer
