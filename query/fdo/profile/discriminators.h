// What compilers note in the discriminators of line tables (DWARF 4, section 6.2.2), which tell apart the blocks of code on one line.
#pragma once

#include <cstdint>
#include <string_view>

namespace plimsoll::fdo {

struct Discriminator {
  uint32_t base = 0;  // the number of the block
  uint32_t duplication =
      1;  // how many copies of the block stand side by side in the loop's code, each with a part of its count
};

// LLVM packs base, duplication factor and copy number into one number (llvm/include/llvm/IR/DebugInfoMetadata.h, "Discriminators"). Each
// component is, from the lowest bit: 1 where it is 0; else 0, then five bits, then 0; or five bits, then 1, then seven
// more bits, where five are not enough.
Discriminator llvm_discriminator(uint32_t encoded);

// As the producer (DW_AT_producer) of the unit writes them: gcc's are block numbers, all else goes by LLVM's scheme.
Discriminator discriminator_of(uint32_t encoded, std::string_view producer);

}  // namespace plimsoll::fdo
