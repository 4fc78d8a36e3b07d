#include "symbolizer/dwarf/units.h"

#include <dwarf.h>
#include <fmt/format.h>

namespace plimsoll::symbolizer {
namespace {

constexpr uint32_t kFirstReservedLength = 0xfffffff0;

uint64_t read_offset(const UnitHeader& header, ByteReader& reader) {
  return header.offset_bytes == 8 ? reader.read<uint64_t>() : reader.read<uint32_t>();
}

void read_version5(UnitHeader& header, ByteReader& reader) {
  header.kind = reader.read<uint8_t>();
  header.address_bytes = reader.read<uint8_t>();
  header.abbreviations = read_offset(header, reader);
  if (header.kind == DW_UT_skeleton || header.kind == DW_UT_split_compile) {
    header.dwo_id = reader.read<uint64_t>();
  } else if (header.kind == DW_UT_type || header.kind == DW_UT_split_type) {
    reader.skip(8);  // the type's signature
    read_offset(header, reader);
  }
}

bool is_known(const UnitHeader& header) {
  return header.version >= 2 && header.version <= 5 &&
         (header.address_bytes == 4 || header.address_bytes == 8);
}

// One header; the reader is behind the unit afterwards, or failed.
UnitHeader read_header(ByteReader& reader) {
  UnitHeader header{.offset = reader.offset(), .kind = DW_UT_compile, .offset_bytes = 4};
  uint64_t length = reader.read<uint32_t>();
  if (length == k64BitMark) {
    header.offset_bytes = 8;
    length = reader.read<uint64_t>();
  } else if (length >= kFirstReservedLength) {
    reader.seek(UINT64_MAX);
  }
  const uint64_t begin = reader.offset();
  header.end = length <= reader.remaining() ? begin + length : UINT64_MAX;
  header.version = reader.read<uint16_t>();
  if (header.version >= 5) {
    read_version5(header, reader);
  } else {
    header.abbreviations = read_offset(header, reader);
    header.address_bytes = reader.read<uint8_t>();
  }
  header.entries_begin = reader.offset();
  if (header.entries_begin > header.end) {
    reader.seek(UINT64_MAX);
  }
  reader.seek(header.end);
  return header;
}

}  // namespace

std::vector<UnitHeader> read_unit_headers(Bytes info, std::string& damage) {
  std::vector<UnitHeader> headers;
  ByteReader reader(info);
  while (reader.ok() && reader.remaining() > 0) {
    const size_t offset = reader.offset();
    const UnitHeader header = read_header(reader);
    if (!reader.ok()) {
      damage =
          fmt::format("the unit at offset {:#x} of .debug_info is damaged; what follows is not read", offset);
    } else if (is_known(header)) {
      headers.push_back(header);
    }
  }
  return headers;
}

Result<const AbbreviationTable*> AbbreviationTables::at(uint64_t offset) {
  const auto known = by_offset_.find(offset);
  if (known != by_offset_.end()) {
    return known->second.get();
  }
  auto table = AbbreviationTable::read(section_, offset);
  if (!table) {
    return propagate(table);
  }
  return by_offset_.emplace(offset, std::make_unique<AbbreviationTable>(std::move(*table)))
      .first->second.get();
}

}  // namespace plimsoll::symbolizer
