// Numbers with units. Internal to traces/bursts/search.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "traces/bursts/search/fields.h"

namespace plimsoll::traces {

// In ns, bytes, millionths or as it is, by type. Nothing where the text is no number of that type.
std::optional<uint64_t> number_in(std::string_view text, FieldType type);
// What to write for a type: "a time with its unit, such as 50ms".
std::string_view expected_for(FieldType type);

}  // namespace plimsoll::traces
