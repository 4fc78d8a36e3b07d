// Hexadecimal text of bytes, as build IDs and profile IDs are shown.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

// Lower-case, two digits a byte. `bytes` is any binary string.
std::string to_hex(std::string_view bytes);

// The inverse; nothing where the text has an odd length or another character.
std::optional<std::string> from_hex(std::string_view text);

}  // namespace plimsoll
