// Shares as people write them, the same way everywhere.
#pragma once

#include <optional>
#include <string_view>

namespace plimsoll {

// "3%" or "0.03" is 0.03. Above 1 only as a percentage, "150%", so that 3 is never taken for 300 %. Nothing for
// other text, and for negative or infinite numbers.
std::optional<double> parse_share(std::string_view text);

}  // namespace plimsoll
