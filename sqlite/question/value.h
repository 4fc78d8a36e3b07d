// A cell of an answer.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace plimsoll::sqlite {

// NULL, text (of blobs: their bytes in hexadecimal), a whole number or a real one.
using Value = std::variant<std::monostate, std::string, int64_t, double>;

}  // namespace plimsoll::sqlite
