// What SQLite hands to a function or a virtual table. Borrowed: valid until the value is converted or its statement goes on.
#pragma once

#include <sqlite3.h>

#include <string_view>

namespace plimsoll::sqlite {

// Never null, so that memmem() and the like may have it; empty for NULL. Converts numbers to text, as SQLite does.
inline std::string_view text_of(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(::sqlite3_value_text(value));
  return text == nullptr ? std::string_view("")
                         : std::string_view(text, static_cast<size_t>(::sqlite3_value_bytes(value)));
}

}  // namespace plimsoll::sqlite
