// What the characters of names are, in whatever locale.
#pragma once

#include <string_view>

namespace plimsoll::symbolizer {

constexpr bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

constexpr bool is_one_of(char character, std::string_view set) {
  return character != '\0' && set.find(character) != std::string_view::npos;
}

// Of an identifier of any language: letters and digits of ASCII, underscore, dollar, and every byte of a longer UTF-8 sequence.
constexpr bool is_word_character(char character) {
  return is_digit(character) || (character >= 'a' && character <= 'z') ||
         (character >= 'A' && character <= 'Z') || character == '_' || character == '$' ||
         static_cast<unsigned char>(character) >= 0x80;
}

}  // namespace plimsoll::symbolizer
