#include "http/percents.h"

namespace plimsoll::http {

size_t decode_percents(char* text) noexcept {
  const auto digit_of = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  char* to = text;
  for (const char* from = text; *from != '\0';) {
    const int high = *from == '%' ? digit_of(from[1]) : -1;
    const int low = high < 0 ? -1 : digit_of(from[2]);
    if (low >= 0 && (high != 0 || low != 0)) {
      *to++ = static_cast<char>(high * 16 + low);
      from += 3;
    } else {
      *to++ = *from++;
    }
  }
  *to = '\0';
  return static_cast<size_t>(to - text);
}

}  // namespace plimsoll::http
