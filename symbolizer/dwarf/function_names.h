// What the entries of .debug_info call functions, wherever the name stands: at the entry itself, at the abstract function that it is
// an instance of, or at its declaration in a class.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "symbolizer/dwarf/unit_code.h"

namespace plimsoll::symbolizer {

// Which unit of which file holds the entry; null: none.
using FindUnit = std::function<const Unit*(uint64_t offset, bool in_supplement)>;

// Follows the entry's references (abstract origin, specification), each once and few in all. What could not be read is empty.
FunctionName function_name_at(uint64_t entry, bool in_supplement, const FindUnit& find_unit);

}  // namespace plimsoll::symbolizer
