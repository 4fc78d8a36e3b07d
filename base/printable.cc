#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace plimsoll {
namespace {

struct Character {
  uint32_t code_point = 0;
  size_t bytes = 0;  // 0: no valid UTF-8
};

Character first_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) {
    return {first, 1};
  }
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) {
    return {};
  }
  uint32_t code_point = first & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0U) != 0x80) {
      return {};
    }
    code_point = code_point << 6U | (next & 0x3FU);
  }
  constexpr std::array<uint32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  const bool is_one = code_point >= kSmallest.at(length) && code_point <= 0x10FFFF && !is_surrogate;
  return is_one ? Character{code_point, length} : Character{};
}

struct Range {
  uint32_t from;
  uint32_t to;
};
// Controls, and of Unicode's format characters (Cf) and separators those that hide, join or reorder text.
constexpr std::array<Range, 13> kHidden{{{0x0, 0x1F},
                                         {0x7F, 0x9F},
                                         {0xAD, 0xAD},
                                         {0x61C, 0x61C},
                                         {0x180E, 0x180E},
                                         {0x200B, 0x200F},
                                         {0x2028, 0x202E},
                                         {0x2060, 0x206F},
                                         {0xFEFF, 0xFEFF},
                                         {0xFFF9, 0xFFFB},
                                         {0x13430, 0x13455},
                                         {0x1BCA0, 0x1BCA3},
                                         {0xE0000, 0xE007F}}};

bool is_hidden(uint32_t code_point) {
  return std::ranges::any_of(
      kHidden, [&](const Range& range) { return code_point >= range.from && code_point <= range.to; });
}

std::string json_escape(uint32_t code_point) {
  if (code_point < 0x10000) {
    return fmt::format("\\u{:04x}", code_point);
  }
  const uint32_t above = code_point - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (above >> 10U), 0xDC00 + (above & 0x3FFU));
}

}  // namespace

std::string printable(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const Character character = first_character(bytes);
    const bool is_shown = character.bytes != 0 && !is_hidden(character.code_point);
    text += is_shown ? bytes.substr(0, character.bytes) : std::string_view("?");
    // Of a control character of several bytes each is replaced, as of bytes that are none.
    bytes.remove_prefix(is_shown ? character.bytes : 1);
  }
  return text;
}

std::string printable_lines(std::string_view text) {
  std::string lines;
  while (true) {
    const size_t end = text.find('\n');
    lines += printable(text.substr(0, end));
    if (end == std::string_view::npos) {
      return lines;
    }
    lines += '\n';
    text.remove_prefix(end + 1);
  }
}

std::string spreadsheet_text(std::string_view bytes) {
  std::string text = printable(bytes);
  const bool is_formula =
      !text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos;
  return is_formula ? "'" + text : text;
}

std::string visible_json(std::string json) {
  // Below 0x80 a document has line ends and no other controls; within strings they have escapes already.
  const auto is_plain = [](char byte) { return static_cast<unsigned char>(byte) < 0x7F; };
  if (std::ranges::all_of(json, is_plain)) {
    return json;
  }
  std::string escaped;
  for (std::string_view rest = json; !rest.empty();) {
    const Character character = first_character(rest);
    const size_t bytes = std::max<size_t>(1, character.bytes);
    const bool is_escaped = character.code_point >= 0x7F && is_hidden(character.code_point);
    escaped += is_escaped ? json_escape(character.code_point) : std::string(rest.substr(0, bytes));
    rest.remove_prefix(bytes);
  }
  return escaped;
}

}  // namespace plimsoll
