// One instruction at a time, of either machine: what blocks and jump tables are made from. Capstone stands behind it (instructions.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/byte_reader.h"
#include "base/result.h"
#include "query/fdo/code/program_code.h"

namespace plimsoll::fdo {

enum class ControlFlow : uint8_t {
  kNext,
  kCall,
  kConditional,
  kJump,
  kIndirectJump,
  kReturn,
  kStop,  // a trap: nothing comes after it
};

// A general register by its number in the encoding (x86-64: rax 0, rcx 1, ... r15 15; AArch64: x0 0, ... x30 30), in whatever width; kNoRegister: none.
constexpr uint8_t kNoRegister = 0xff;
constexpr uint8_t kRegisters = 32;
constexpr uint8_t kInstructionPointer = 0xfe;

// An address in memory: base + index * scale + displacement.
struct MemoryOperand {
  uint8_t base = kNoRegister;
  uint8_t index = kNoRegister;
  uint8_t scale = 1;
  int64_t displacement = 0;  // the address itself, where the base is the instruction pointer
  bool has_segment = false;
  bool is_stack = false;  // in the frame of the function, as far as the base tells

  bool operator==(const MemoryOperand&) const = default;
};

// What a jump through a table is made of. AArch64: kMove, kLoad, kLoadMember, kLoadSigned, kAddress (adr, adrp), kAdd and kOther alone.
enum class Role : uint8_t {
  kNone,
  kCompare,       // cmp $immediate, source or memory
  kMask,          // and $immediate, destination
  kMove,          // mov and movzx from a register: destination takes what source has
  kLoad,          // mov and movzx from memory, unsigned
  kLoadMember,    // of an address by an index of bytes: what calls through pointers to members begin with
  kLoadSigned,    // movslq memory, destination
  kAddress,       // lea of memory: only with the instruction pointer as base, and without index
  kAdd,           // add source, destination
  kJumpAbove,     // ja
  kJumpNotBelow,  // jae
  kJumpNotAbove,  // jbe
  kJumpBelow,     // jb
  kOther,         // writes destination in another way
};

struct Decoded {
  uint64_t address = 0;
  uint64_t target = 0;  // of direct jumps and calls
  int64_t immediate = 0;
  MemoryOperand memory = {};
  uint32_t written = 0;  // general registers, a bit each
  uint8_t bytes = 0;
  uint8_t source = kNoRegister;
  uint8_t destination = kNoRegister;
  bool has_memory = false;
  bool has_target = false;
  CostClass cost = CostClass::kSimple;
  ControlFlow flow = ControlFlow::kNext;
  Role role = Role::kNone;
};

// One thread.
class Decoder {
 public:
  static Result<Decoder> create(Machine machine);
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;
  ~Decoder();

  // The instruction that `code` begins with; nothing where that is none.
  std::optional<Decoded> decode(Bytes code, uint64_t address);

  // As people read the instruction that decode() found last, such as "mov rax, qword ptr [rdi]" (Intel's order of operands); empty
  // before it has found any.
  std::string text() const;

 private:
  struct State;
  explicit Decoder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::fdo
