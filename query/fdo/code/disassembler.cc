#include "query/fdo/code/disassembler.h"

#include <utility>

#include "query/fdo/code/decoded_function.h"
#include "query/fdo/code/decoder.h"
#include "query/fdo/code/read_code.h"

namespace plimsoll::fdo {

struct Disassembler::State {
  LoadedSections sections;
  Decoder decoder;
};

Disassembler::Disassembler(std::unique_ptr<State> state) : state_(std::move(state)) {}
Disassembler::Disassembler(Disassembler&&) noexcept = default;
Disassembler& Disassembler::operator=(Disassembler&&) noexcept = default;
Disassembler::~Disassembler() = default;

Result<Disassembler> Disassembler::create(const elf::ElfFile& binary) {
  const auto machine = machine_of(binary);
  if (!machine) {
    return propagate(machine);
  }
  auto decoder = Decoder::create(*machine);
  if (!decoder) {
    return propagate(decoder);
  }
  return Disassembler(std::make_unique<State>(State{LoadedSections(binary), std::move(*decoder)}));
}

std::optional<InstructionText> Disassembler::at(uint64_t address) {
  const auto decoded = state_->decoder.decode(state_->sections.code_at(address), address);
  if (!decoded) {
    return std::nullopt;
  }
  return InstructionText{state_->decoder.text(), decoded->bytes,
                         decoded->has_target ? std::optional(decoded->target) : std::nullopt};
}

}  // namespace plimsoll::fdo
