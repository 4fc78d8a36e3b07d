// llvm-symbolizer-19: who else says what stands at an address.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "tests/symbols/chain.h"

namespace plimsoll::testing {

// Calls `consume` for each address in turn. One process for all of them; it finds debug files, .dwo and .dwp files by itself.
Status ask_llvm_symbolizer(const std::string& binary, std::span<const uint64_t> addresses,
                           const std::function<void(uint64_t address, const Chain& chain)>& consume);

}  // namespace plimsoll::testing
