// How instructions of each machine are described, from what Capstone says of them. For decoder.cc only.
#pragma once

#include <capstone.h>

#include <string_view>

#include "query/fdo/code/decoder.h"

namespace plimsoll::fdo {

// Fill in all but `address` and `bytes`. `insn` has details (CS_OPT_DETAIL).
void describe_x86(const cs_insn& insn, Decoded& decoded);
void describe_arm(const cs_insn& insn, Decoded& decoded);

inline bool starts_with(const cs_insn& insn, std::string_view what) {
  return std::string_view(insn.mnemonic).starts_with(what);
}
inline bool contains(const cs_insn& insn, std::string_view what) {
  return std::string_view(insn.mnemonic).find(what) != std::string_view::npos;
}

}  // namespace plimsoll::fdo
