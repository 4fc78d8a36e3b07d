#include "symbolizer/names/ocaml_names.h"

#include <algorithm>

#include "symbolizer/names/characters.h"
#include "symbolizer/names/name_cursor.h"

namespace plimsoll::symbolizer {
namespace {

constexpr std::string_view kPrefix = "caml";

// -1: it is none.
int value_of_hex(char character) {
  return is_digit(character)                    ? character - '0'
         : character >= 'a' && character <= 'f' ? character - 'a' + 10
                                                : -1;
}

// "$2b" stands for the character that a symbol may not have.
void add_character(NameCursor& cursor, std::string& name) {
  const int high = cursor.peek() == '$' ? value_of_hex(cursor.peek(1)) : -1;
  const int low = high < 0 ? -1 : value_of_hex(cursor.peek(2));
  const int value = low < 0 ? -1 : high * 16 + low;
  if (value > ' ' && value < 0x7f) {
    name += static_cast<char>(value);
    cursor.move_to(cursor.at() + 3);
  } else {
    name += cursor.next();
  }
}

// Without "_1234", unless nothing but that tells it from others.
std::string_view without_stamp(std::string_view function) {
  const size_t line = function.rfind('_');
  const std::string_view stamp = line == std::string_view::npos ? "" : function.substr(line + 1);
  const bool is_stamp = !stamp.empty() && std::ranges::all_of(stamp, is_digit);
  const std::string_view name = function.substr(0, line);
  return is_stamp && !name.empty() && name != "fun" ? name : function;
}

}  // namespace

std::optional<std::string> ocaml_name(std::string_view linkage_name) {
  NameCursor cursor(linkage_name);
  // Modules begin with a capital.
  if (!cursor.take(kPrefix) || cursor.peek() < 'A' || cursor.peek() > 'Z') {
    return std::nullopt;
  }
  std::string name;
  size_t last = std::string::npos;  // where the function's own name begins
  while (!cursor.is_at_end()) {
    const bool is_between = !name.empty() && !name.ends_with('.');
    if (is_between && (cursor.take("__") || cursor.take('.'))) {
      name += '.';
      last = name.size();
    } else {
      add_character(cursor, name);
    }
  }
  if (last == std::string::npos || last == name.size()) {
    return std::nullopt;
  }
  name.resize(last + without_stamp(std::string_view(name).substr(last)).size());
  return name;
}

}  // namespace plimsoll::symbolizer
