#include "capture/unwind/encoded_pointer.h"

#include <dwarf.h>

namespace plimsoll::unwind {
namespace {

constexpr uint8_t kFormatBits = 0x0f;
constexpr uint8_t kBaseBits = 0x70;

std::optional<uint64_t> read_format(ByteReader& reader, uint8_t format) {
  switch (format) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      return reader.read<uint64_t>();
    case DW_EH_PE_uleb128:
      return reader.uleb128();
    case DW_EH_PE_sleb128:
      return static_cast<uint64_t>(reader.sleb128());
    case DW_EH_PE_udata2:
      return reader.read<uint16_t>();
    case DW_EH_PE_udata4:
      return reader.read<uint32_t>();
    case DW_EH_PE_sdata2:
      return static_cast<uint64_t>(int64_t{reader.read<int16_t>()});
    case DW_EH_PE_sdata4:
      return static_cast<uint64_t>(int64_t{reader.read<int32_t>()});
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<uint64_t> read_encoded(ByteReader& reader, uint8_t encoding, uint64_t address) {
  if (encoding == DW_EH_PE_omit || (encoding & DW_EH_PE_indirect) != 0) {
    return std::nullopt;
  }
  const uint64_t place = address + reader.offset();
  const auto value = read_format(reader, encoding & kFormatBits);
  if (!value || !reader.ok()) {
    return std::nullopt;
  }
  switch (encoding & kBaseBits) {
    case DW_EH_PE_absptr:
      return value;
    case DW_EH_PE_pcrel:
      return *value + place;
    default:
      return std::nullopt;
  }
}

}  // namespace plimsoll::unwind
