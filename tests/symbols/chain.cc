#include "tests/symbols/chain.h"

#include <fmt/format.h>

namespace plimsoll::testing {

std::string text_of(const Chain& chain) {
  std::string text;
  for (const ChainFrame& frame : chain) {
    text +=
        fmt::format("{}{} {}:{}", text.empty() ? "" : " < ", frame.function.empty() ? "??" : frame.function,
                    frame.file.empty() ? "??" : frame.file, frame.line);
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace plimsoll::testing
