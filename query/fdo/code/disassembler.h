// Instructions of a binary as text, by address: what people read. Blocks and edges are in read_code.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "elf/elf_file.h"

namespace plimsoll::fdo {

struct InstructionText {
  std::string text;  // "jne 0x1150"
  uint8_t bytes = 0;
  std::optional<uint64_t> target = {};  // of a direct jump or call
};

// One thread. Borrows the bytes of the binary.
class Disassembler {
 public:
  // kUnsupported for machines other than x86-64 and AArch64.
  static Result<Disassembler> create(const elf::ElfFile& binary);
  Disassembler(Disassembler&&) noexcept;
  Disassembler& operator=(Disassembler&&) noexcept;
  ~Disassembler();

  // Nothing where no instruction begins at the address. Costs about 1 us. Reads nothing outside of the executable sections.
  std::optional<InstructionText> at(uint64_t address);

 private:
  struct State;
  explicit Disassembler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::fdo
