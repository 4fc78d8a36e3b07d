#include "base/share.h"

#include <charconv>
#include <cmath>

namespace plimsoll {

std::optional<double> parse_share(std::string_view text) {
  const bool is_percentage = text.ends_with('%');
  text.remove_suffix(is_percentage ? 1 : 0);
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(number) || number < 0) {
    return std::nullopt;
  }
  if (is_percentage) {
    return number / 100;
  }
  return number <= 1 ? std::optional(number) : std::nullopt;
}

}  // namespace plimsoll
