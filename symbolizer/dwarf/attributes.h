// Attribute values by their forms (DWARF 5, 7.5.5 and 7.5.6, and the GNU extensions of DWARF 4: split units, dwz).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/byte_reader.h"
#include "symbolizer/dwarf/units.h"

namespace plimsoll::symbolizer {

// How many references from entry to entry are followed: an instance, its abstract function, its declaration, and as many again.
inline constexpr int kMaxReferences = 8;

struct AttributeValue {
  enum class Kind : uint8_t {
    kNone,  // a block, an expression: read over
    kAddress,
    kAddressIndex,         // in .debug_addr, of this unit
    kConstant,             // also flags; signed ones as two's complement
    kReference,            // offset of an entry in .debug_info
    kSupplementReference,  // likewise, in the supplementary file
    kSectionOffset,        // in whichever section the attribute says
    kListIndex,            // in .debug_rnglists, of this unit
    kText,
  };
  Kind kind = Kind::kNone;
  uint64_t value = 0;
  Bytes text = {};  // kText: begins there, ends with a zero byte
};

// Reads the value, and leaves the reader behind it. An unknown form marks the reader as failed: its length is unknown.
AttributeValue read_attribute(const AttributeSpec& spec, const Unit& unit, ByteReader& reader);

// Reads over all values of an entry.
void skip_attributes(const Abbreviation& abbreviation, const Unit& unit, ByteReader& reader);

// Empty where it is no text, or has no end.
std::string_view text_of(const AttributeValue& value);

// Of kAddress and kAddressIndex.
std::optional<uint64_t> address_of(const AttributeValue& value, const Unit& unit);

// The address in .debug_addr.
std::optional<uint64_t> indexed_address(uint64_t index, const Unit& unit);

}  // namespace plimsoll::symbolizer
