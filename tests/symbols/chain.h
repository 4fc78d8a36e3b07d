// What stands at an address, in the terms that our tables and other symbolizers share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::testing {

struct ChainFrame {
  std::string function;  // as linked; empty: unknown
  std::string file;      // empty: unknown
  uint64_t line = 0;     // 0: unknown, or code of no line

  bool operator==(const ChainFrame&) const = default;
};

// Innermost first; empty where nothing is known.
using Chain = std::vector<ChainFrame>;

// "f a.h:3 < main a.cc:9"
std::string text_of(const Chain& chain);

}  // namespace plimsoll::testing
