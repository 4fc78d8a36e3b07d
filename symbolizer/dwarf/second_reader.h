// Another reader of debug information (symbolizer/libdw), for what ours does not read. It says what it has read as ours does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbolizer/dwarf/unit_rows.h"

namespace plimsoll::symbolizer {

// Which reader reads the units of a file.
enum class ReaderChoice : uint32_t {
  kBoth = 0,         // ours; the second where ours finds damage in a unit, and for relocatable files
  kOursAlone = 1,    // what ours cannot read is left out
  kSecondAlone = 2,  // for comparisons
};

// One thread. What it gives borrows from it and from the files' bytes.
class SecondReader {
 public:
  struct Unit {
    uint64_t entry;  // the unit's own, in .debug_info (UnitHeader::entries_begin)
    std::string_view producer;
    uint32_t language;  // DW_LANG_*
  };
  virtual ~SecondReader() = default;

  // By entry.
  virtual const std::vector<Unit>& units() const = 0;
  // Bounded in depth and entries, and by the budget, which it uses up. Names are in UnitRows::scope_names.
  virtual UnitRows read(const Unit& unit, const std::function<bool(uint64_t from)>& is_code,
                        CodeBudget& budget) = 0;
  // Of dwz's supplementary file, by unit, in the order of their entries.
  virtual std::vector<UnitNames> supplement_names() = 0;
};

using OpenSecondReader = std::function<Result<std::unique_ptr<SecondReader>>()>;

}  // namespace plimsoll::symbolizer
