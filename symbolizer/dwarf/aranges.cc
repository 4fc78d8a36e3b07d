#include "symbolizer/dwarf/aranges.h"

#include <optional>

#include "symbolizer/dwarf/units.h"

namespace plimsoll::symbolizer {
namespace {

constexpr uint16_t kVersion = 2;

uint64_t read_word(ByteReader& reader, uint64_t bytes) {
  return bytes == 8 ? reader.read<uint64_t>() : reader.read<uint32_t>();
}

struct SetHeader {
  uint64_t unit = 0;
  uint64_t end = 0;
  uint64_t address_bytes = 0;
};

// Leaves the reader at the first entry.
std::optional<SetHeader> read_header(ByteReader& reader, size_t section_bytes) {
  const size_t start = reader.offset();
  const auto short_length = reader.read<uint32_t>();
  const bool is_long = short_length == k64BitMark;
  const uint64_t length = is_long ? reader.read<uint64_t>() : short_length;
  SetHeader header;
  if (!reader.ok() || length > section_bytes - reader.offset()) {
    return std::nullopt;
  }
  header.end = reader.offset() + length;
  const auto version = reader.read<uint16_t>();
  header.unit = read_word(reader, is_long ? 8 : 4);
  header.address_bytes = reader.read<uint8_t>();
  const auto segment_bytes = reader.read<uint8_t>();
  const bool is_known =
      version == kVersion && segment_bytes == 0 && (header.address_bytes == 4 || header.address_bytes == 8);
  if (!reader.ok() || !is_known) {
    return std::nullopt;
  }
  // Entries are aligned to their size, from the set's begin on.
  const size_t entry_bytes = 2 * header.address_bytes;
  const size_t used = (reader.offset() - start) % entry_bytes;
  reader.skip(used == 0 ? 0 : entry_bytes - used);
  return reader.ok() ? std::optional(header) : std::nullopt;
}

}  // namespace

std::unordered_map<uint64_t, std::vector<AddressRange>> read_aranges(Bytes section, uint64_t& budget) {
  std::unordered_map<uint64_t, std::vector<AddressRange>> ranges;
  ByteReader reader(section);
  while (reader.remaining() > 0) {
    const auto header = read_header(reader, section.size());
    if (!header) {
      return ranges;
    }
    std::vector<AddressRange>& of_unit = ranges[header->unit];
    while (reader.offset() + 2 * header->address_bytes <= header->end && budget > 0) {
      --budget;
      const uint64_t from = read_word(reader, header->address_bytes);
      const uint64_t bytes = read_word(reader, header->address_bytes);
      if (from == 0 && bytes == 0) {
        break;
      }
      if (bytes != 0 && bytes <= UINT64_MAX - from) {
        of_unit.push_back({from, from + bytes});
      }
    }
    reader.seek(header->end);
  }
  return ranges;
}

}  // namespace plimsoll::symbolizer
