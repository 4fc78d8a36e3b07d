#include "base/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace plimsoll {
namespace {

// The length of the valid UTF-8 sequence at the front of `text`; 0 where there is none or it is a control character.
size_t utf8_sequence_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) {
    return first >= 0x20 && first != 0x7F ? 1 : 0;
  }
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) {
    return 0;
  }
  uint32_t code_point = first & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0U) != 0x80) {
      return 0;
    }
    code_point = code_point << 6U | (next & 0x3FU);
  }
  constexpr std::array<uint32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  const bool is_c1_control = code_point >= 0x80 && code_point < 0xA0;
  return !is_c1_control && code_point >= kSmallest[length] && code_point <= 0x10FFFF && !is_surrogate ? length
                                                                                                      : 0;
}

}  // namespace

std::string printable(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const size_t length = utf8_sequence_length(bytes);
    text += length == 0 ? std::string_view("?") : bytes.substr(0, length);
    bytes.remove_prefix(std::max<size_t>(length, 1));
  }
  return text;
}

}  // namespace plimsoll
