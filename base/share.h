// Shares as people write them, the same way everywhere.
#pragma once

#include <optional>
#include <string_view>

namespace plimsoll {

// "3%" or "0.03" is 0.03. Above 1 only as a percentage, "150%", so that nobody who means 3 % is given 300 %. Nothing of another text, of a
// negative or endless number.
std::optional<double> parse_share(std::string_view text);

}  // namespace plimsoll
