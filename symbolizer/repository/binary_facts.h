// What the repository of binaries wants to know of a file before it keeps it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"
#include "store/model/bindings.h"

namespace plimsoll::symbolizer {

// A separate debug file has the names, and not the code, of the executable (or shared library) with the same build ID.
enum class BinaryKind : uint8_t { kExecutable, kDebug };

// "executable", "debug".
std::string_view name_of(BinaryKind kind);

struct BinaryFacts {
  std::string build_id;  // bytes
  BinaryKind kind = BinaryKind::kExecutable;
  // Which symbols it has by itself. Of DWARF only the presence of its sections counts, which is no promise that it can be read.
  store::SymbolQuality quality = store::SymbolQuality::kNone;
  uint64_t size_bytes = 0;
  std::string content_hash;  // content_hash() of base/checksum.h
  std::string htl_hash;      // htl_hash()
};

// Build IDs have at least so many bytes: shorter ones have no place in a folder by build ID. Linkers make 8 to 20, users up to 64.
inline constexpr size_t kMinBuildIdBytes = 4;
inline constexpr size_t kMaxBuildIdBytes = 64;

// Reads all of the bytes, which are not trusted. kCorrupt for what is no ELF file, kUnsupported for a file without a build ID. `name` is for
// errors.
Result<BinaryFacts> examine_binary(Bytes image, std::string_view name);

// By which OTLP profilers name a file (process.executable.build_id.htlhash): the first 16 bytes of the SHA-256 of the first 4096 bytes, the
// last 4096 bytes, and the length as a big-endian number of 64 bits.
std::string htl_hash(Bytes image);

}  // namespace plimsoll::symbolizer
