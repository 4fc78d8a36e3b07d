// Linkage names of the language D.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::symbolizer {

// "_D3std5stdio__T7writelnTAyaZQoFNfQjZv": "std.stdio.writeln!(...)". Of a function its qualified name: neither its parameters nor the
// arguments of templates, which back references can make of any length (https://dlang.org/spec/abi.html#name_mangling). Nothing where it is
// no such name as a whole, or one whose parts nest deeper than 64. Gives at most four times its length. Any thread.
std::optional<std::string> d_name(std::string_view linkage_name);

}  // namespace plimsoll::symbolizer
