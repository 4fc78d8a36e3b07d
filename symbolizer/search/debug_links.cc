#include "symbolizer/search/debug_links.h"

#include <lzma.h>
#include <zlib.h>

#include <algorithm>

#include "elf/build_id.h"

namespace plimsoll::symbolizer {
namespace {

constexpr uint64_t kMaxLzmaMemoryBytes = uint64_t{256} << 20;

bool is_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() < 256 &&
         name.find('/') == std::string_view::npos;
}

}  // namespace

std::optional<DebugLink> find_debug_link(const elf::ElfFile& file) {
  ByteReader reader(file.section_bytes(".gnu_debuglink"));
  DebugLink link;
  link.name = reader.c_string();
  reader.seek((reader.offset() + 3) & ~size_t{3});
  link.crc = reader.read<uint32_t>();
  return reader.ok() && is_file_name(link.name) ? std::optional(link) : std::nullopt;
}

std::optional<SupplementLink> find_supplement_link(const elf::ElfFile& file) {
  ByteReader reader(file.section_bytes(".gnu_debugaltlink"));
  SupplementLink link;
  link.path = reader.c_string();
  link.build_id = as_text(reader.bytes(reader.remaining()));
  return reader.ok() && !link.path.empty() && !link.build_id.empty() ? std::optional(link) : std::nullopt;
}

std::string build_id_path(const std::string& root, std::string_view build_id) {
  const std::string entry = elf::build_id_entry(root, build_id);
  return entry.empty() ? entry : entry + ".debug";
}

Result<std::string> read_mini_debug_info(const elf::ElfFile& file, uint64_t max_bytes) {
  const Bytes compressed = file.section_bytes(".gnu_debugdata");
  std::string content;
  if (compressed.empty()) {
    return content;
  }
  lzma_stream stream = LZMA_STREAM_INIT;
  if (::lzma_stream_decoder(&stream, kMaxLzmaMemoryBytes, 0) != LZMA_OK) {
    return fail(ErrorCode::kIo, "liblzma cannot start");
  }
  stream.next_in = reinterpret_cast<const uint8_t*>(compressed.data());
  stream.avail_in = compressed.size();
  lzma_ret done = LZMA_OK;
  while (done == LZMA_OK && content.size() < max_bytes) {
    const size_t before = content.size();
    content.resize(std::min<size_t>(max_bytes, std::max<size_t>(2 * before, size_t{1} << 16)));
    stream.next_out = reinterpret_cast<uint8_t*>(content.data()) + before;
    stream.avail_out = content.size() - before;
    done = ::lzma_code(&stream, LZMA_FINISH);
    content.resize(content.size() - stream.avail_out);
  }
  ::lzma_end(&stream);
  if (done != LZMA_STREAM_END) {
    return done == LZMA_OK ? fail(ErrorCode::kTooLarge, ".gnu_debugdata holds more than {} bytes", max_bytes)
                           : fail(ErrorCode::kCorrupt, ".gnu_debugdata is damaged");
  }
  return content;
}

uint32_t debug_link_crc(Bytes content) {
  return static_cast<uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
}

}  // namespace plimsoll::symbolizer
