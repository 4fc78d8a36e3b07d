// Percent-encoded bytes of a request's path and query.
#pragma once

#include <cstddef>

namespace plimsoll::http {

// Decodes them in place, up to the zero byte that ends the text, and returns the new length. "%00" stays as it is: what comes after a zero byte
// would be lost.
size_t decode_percents(char* text) noexcept;

}  // namespace plimsoll::http
