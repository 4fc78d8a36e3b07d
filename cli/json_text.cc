#include "cli/json_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

#include "base/printable.h"

namespace plimsoll::cli {
namespace {

// How many bytes the sequence that begins with this one has; 0: none begins so.
size_t sequence_length(uint8_t first) {
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xc2 && first < 0xe0) {
    return 2;
  }
  if (first >= 0xe0 && first < 0xf0) {
    return 3;
  }
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

// The bounds of the second byte rule out overlong forms, surrogates and what lies beyond U+10FFFF (RFC 3629).
bool is_second(uint8_t first, uint8_t second) {
  const uint8_t from = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const uint8_t to = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  return second >= from && second <= to;
}

// The length of the character that `text` begins with; 0 where it is no UTF-8.
size_t character_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const size_t length = sequence_length(byte(0));
  if (length > text.size() || (length > 1 && !is_second(byte(0), byte(1)))) {
    return 0;
  }
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) {
      return 0;
    }
  }
  return length;
}

void append_ascii(char character, std::string& out) {
  switch (character) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      if (static_cast<uint8_t>(character) < 0x20 || character == 0x7f) {
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<uint8_t>(character));
      } else {
        out += character;
      }
  }
}

}  // namespace

void append_json_string(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const size_t length = character_length(text);
    if (length == 0) {
      out += "\\ufffd";
    } else if (length == 1) {
      append_ascii(text[0], out);
    } else {
      out += visible_json(std::string(text.substr(0, length)));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

}  // namespace plimsoll::cli
