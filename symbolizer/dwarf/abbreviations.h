// .debug_abbrev: what the entries of a unit look like (DWARF 5, 7.5.3).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll::symbolizer {

struct AttributeSpec {
  uint16_t name;           // DW_AT_*
  uint16_t form;           // DW_FORM_*
  int64_t implicit_value;  // of DW_FORM_implicit_const
};

// How long values are that a form does not leave to the value itself: some bytes, and as many addresses and offsets, whose
// lengths are the unit's.
struct FixedLength {
  bool is_fixed = true;
  uint8_t addresses = 0;
  uint8_t offsets = 0;
  uint16_t bytes = 0;
};

struct Abbreviation {
  uint16_t tag = 0;  // DW_TAG_*; 0: there is no such code
  bool has_children = false;
  uint32_t first_attribute = 0;  // in AbbreviationTable's list
  uint32_t attributes = 0;
  FixedLength length;  // of all attributes together
};

// One table of the section. Immutable.
class AbbreviationTable {
 public:
  // The one at that offset. Bounded by the section: each abbreviation takes bytes there.
  static Result<AbbreviationTable> read(Bytes section, uint64_t offset);

  // Null where the table has no such code.
  const Abbreviation* find(uint64_t code) const {
    if (code < by_code_.size()) {
      return by_code_[code].tag != 0 ? &by_code_[code] : nullptr;
    }
    return find_rare(code);
  }

  std::span<const AttributeSpec> attributes_of(const Abbreviation& abbreviation) const {
    return std::span(attributes_).subspan(abbreviation.first_attribute, abbreviation.attributes);
  }

 private:
  struct Rare {
    uint64_t code;
    Abbreviation abbreviation;
  };
  const Abbreviation* find_rare(uint64_t code) const;
  Status read_one(uint64_t code, ByteReader& reader);

  std::vector<Abbreviation> by_code_;  // compilers number them from 1
  std::vector<Rare> rare_;             // by code: what is numbered otherwise
  std::vector<AttributeSpec> attributes_;
};

}  // namespace plimsoll::symbolizer
