#include "base/shell_argument.h"

namespace plimsoll {

std::string shell_argument(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+:,@-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    // Nothing is special within single quotes, so that one of them stands outside.
    quoted.append(c == '\'' ? std::string_view(R"('\'')") : std::string_view(&c, 1));
  }
  quoted.push_back('\'');
  return quoted;
}

}  // namespace plimsoll
