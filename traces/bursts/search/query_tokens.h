// Words, numbers and signs of a search. Internal to traces/bursts/search.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace plimsoll::traces {

enum class TokenKind : uint8_t { kWord, kNumber, kText, kSign, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;   // of kText without its quotes and escapes
  size_t column = 1;  // in bytes
};

// The last one is kEnd.
Result<std::vector<Token>> tokens_of(std::string_view text);
// For messages: the token in quotes, or "the end".
std::string shown(const Token& token);

}  // namespace plimsoll::traces
