#include "elf/go_build_info.h"

#include <algorithm>

namespace plimsoll::elf {
namespace {

constexpr std::string_view kMagic = "\xff Go buildinf:";
constexpr size_t kAlignment = 16;
constexpr size_t kHeaderBytes = 32;
constexpr uint8_t kIsBigEndian = 1;
constexpr uint8_t kIsInline = 2;
// How far into a data segment it may stand (debug/buildinfo looks as far).
constexpr uint64_t kSearchedBytes = 64 << 10;
constexpr uint64_t kMaxInfoBytes = 1 << 20;
constexpr uint64_t kMaxVersionBytes = 256;

// From the magic on; empty where there is none.
std::string_view find_info(std::string_view bytes) {
  for (size_t at = bytes.find(kMagic); at != std::string_view::npos; at = bytes.find(kMagic, at + 1)) {
    if (at % kAlignment == 0) {
      return bytes.substr(at);
    }
  }
  return {};
}

// A Go string in memory: address, then length.
std::string pointed_string(const LoadedImage& image, uint64_t header_address, uint64_t max_bytes) {
  const auto header = image.read(header_address, 2 * sizeof(uint64_t));
  if (!header) {
    return {};
  }
  ByteReader reader(as_bytes(*header));
  const auto address = reader.read<uint64_t>();
  const auto size_bytes = reader.read<uint64_t>();
  return size_bytes > max_bytes ? std::string() : image.read(address, size_bytes).value_or(std::string());
}

// The text stands between two marks of 16 bytes, by which a running program finds it.
std::string without_marks(std::string_view text) {
  constexpr size_t kMarkBytes = 16;
  if (text.size() <= 2 * kMarkBytes || text[text.size() - kMarkBytes - 1] != '\n') {
    return {};
  }
  return std::string(text.substr(kMarkBytes, text.size() - 2 * kMarkBytes));
}

std::optional<GoBuildInfo> decode(const LoadedImage& image, std::string_view info) {
  ByteReader reader(as_bytes(info));
  reader.skip(kMagic.size());
  const auto pointer_bytes = reader.read<uint8_t>();
  const auto flags = reader.read<uint8_t>();
  GoBuildInfo found;
  if ((flags & kIsInline) != 0) {
    reader.seek(kHeaderBytes);
    found.version = as_text(reader.bytes(std::min(reader.uleb128(), kMaxVersionBytes)));
    found.module_info = without_marks(as_text(reader.bytes(reader.uleb128())));
  } else if ((flags & kIsBigEndian) == 0 && pointer_bytes == sizeof(uint64_t)) {
    const auto version_address = reader.read<uint64_t>();
    const auto module_info_address = reader.read<uint64_t>();
    found.version = pointed_string(image, version_address, kMaxVersionBytes);
    found.module_info = without_marks(pointed_string(image, module_info_address, kMaxInfoBytes));
  }
  return reader.ok() && !found.version.empty() ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace

std::optional<GoBuildInfo> read_go_build_info(const LoadedImage& image) {
  if (const auto section = image.section_bytes(".go.buildinfo", kMaxInfoBytes)) {
    return decode(image, find_info(*section));
  }
  if (!image.is_go()) {
    return std::nullopt;
  }
  for (const Segment& segment : image.segments()) {
    if (segment.executable) {
      continue;
    }
    const auto start = image.read(segment.address, std::min(segment.file_bytes, kSearchedBytes));
    if (const std::string_view info = find_info(start ? *start : std::string_view()); !info.empty()) {
      return decode(image, info);
    }
  }
  return std::nullopt;
}

}  // namespace plimsoll::elf
