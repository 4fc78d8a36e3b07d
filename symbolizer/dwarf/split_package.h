// A package of split DWARF (.dwp): the .dwo files of one program in one file, with an index by the units' IDs (DWARF 5, 7.3.5;
// for DWARF 4, GNU's extension with version 2 of the index).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "symbolizer/dwarf/sections.h"

namespace plimsoll::symbolizer {

class SplitPackage {
 public:
  // Borrows the bytes. Errors are those of DwarfImage::open(), and kCorrupt for a damaged index.
  static Result<SplitPackage> open(Bytes package, uint64_t max_decompressed_bytes);

  // The sections of that unit's .dwo file, as if it were one; nothing where the package does not have it.
  std::optional<DwarfSections> sections_of(uint64_t dwo_id) const;

 private:
  explicit SplitPackage(DwarfImage image) : image_(std::move(image)) {}
  Status read_index();

  struct Entry {
    uint64_t id;
    uint32_t row;
  };
  DwarfImage image_;
  uint32_t version_ = 0;
  std::vector<uint32_t> columns_;  // which section each is of (DW_SECT_*)
  uint32_t rows_ = 0;
  uint64_t offsets_begin_ = 0;  // in the index; the sizes follow
  std::vector<Entry> entries_;  // by ID
};

}  // namespace plimsoll::symbolizer
