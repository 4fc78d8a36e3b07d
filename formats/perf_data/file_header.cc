#include "formats/perf_data/file_header.h"

#include <linux/perf_event.h>

namespace plimsoll::perf_data {
namespace {

constexpr size_t kMagicBytes = 8;

struct FixedPart {
  uint64_t magic;
  uint64_t header_bytes;
  uint64_t attribute_bytes;
  Section attributes;
  Section data;
  Section event_types;
};

bool is_little_endian(std::string_view magic) {
  return magic == "PERFILE2" || magic == "PERFFILE";
}

bool is_big_endian(std::string_view magic) {
  return magic == "2ELIFREP" || magic == "ELIFFREP";
}

Result<FileHeader> read_fixed_part(BlockReader& file, uint64_t header_bytes) {
  const auto bytes = file.read(0, header_bytes, "the file header");
  if (!bytes) {
    return propagate(bytes);
  }
  ByteReader reader(*bytes);
  const auto fixed = reader.read<FixedPart>();
  FileHeader header{false, fixed.attribute_bytes, fixed.attributes, fixed.data, fixed.event_types, {}};
  if (header_bytes >= sizeof(FixedPart) + sizeof header.features) {
    header.features = reader.read<decltype(header.features)>();
  }
  if (!reader.ok()) {
    return fail(ErrorCode::kCorrupt, "the file header says that it has {} bytes, fewer than any version's",
                header_bytes);
  }
  return header;
}

}  // namespace

bool looks_like_recording(Bytes content) {
  const std::string_view magic = as_text(content).substr(0, kMagicBytes);
  return is_little_endian(magic) || is_big_endian(magic);
}

Result<FileHeader> read_file_header(BlockReader& file) {
  const auto begin = file.read(0, kPipeHeaderBytes, "the file header");
  if (!begin) {
    return propagate(begin);
  }
  const std::string_view magic = as_text(*begin).substr(0, kMagicBytes);
  if (is_big_endian(magic)) {
    return with_hint(fail(ErrorCode::kUnsupported,
                          "the recording was made on a big-endian machine; only little-endian ones are read"),
                     "use `perf script` on that machine");
  }
  if (!is_little_endian(magic)) {
    return fail(ErrorCode::kCorrupt, "not a perf recording: the file header is wrong");
  }
  ByteReader reader(*begin);
  reader.skip(kMagicBytes);
  const auto header_bytes = reader.read<uint64_t>();
  if (header_bytes == kPipeHeaderBytes) {
    FileHeader pipe;
    pipe.is_pipe = true;
    return pipe;
  }
  constexpr uint64_t kMaxHeaderBytes = 4096;
  if (header_bytes < sizeof(FixedPart) || header_bytes > kMaxHeaderBytes) {
    return fail(ErrorCode::kCorrupt, "the file header at offset 8 says that it has {} bytes", header_bytes);
  }
  return read_fixed_part(file, header_bytes);
}

}  // namespace plimsoll::perf_data
