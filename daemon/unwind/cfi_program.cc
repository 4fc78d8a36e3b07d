#include "daemon/unwind/cfi_program.h"

#include <dwarf.h>

#include "daemon/unwind/encoded_pointer.h"

namespace plimsoll::unwind {
namespace {

constexpr size_t kMaxRemembered = 32;
// Compilers write tens; a damaged entry may be as long as its table.
constexpr int kMaxInstructions = 10'000;

class Interpreter {
 public:
  Interpreter(const CfiProgram& program, uint64_t address, UnwindRow& row)
      : program_(program), address_(address), row_(row), location_(program.begin) {}

  bool run() {
    row_ = UnwindRow();
    row_.is_signal_frame = program_.cie.is_signal_frame;
    if (!run(program_.cie.program_offset, program_.cie.program_bytes)) {
      return false;
    }
    first_row_ = row_;
    location_ = program_.begin;
    arrived_ = false;
    return run(program_.offset, program_.size_bytes);
  }

 private:
  // True once the program has ended, or its next row lies behind the address.
  bool run(uint32_t offset, uint32_t size_bytes) {
    const auto bytes = slice(program_.table, offset, size_bytes, "call frame program");
    if (!bytes) {
      return false;
    }
    ByteReader reader(*bytes);
    while (reader.remaining() > 0 && !arrived_) {
      if (++instructions_ > kMaxInstructions || !step(reader, offset) || !reader.ok()) {
        return false;
      }
    }
    return true;
  }

  // Rows go on from here.
  void advance(uint64_t code_units) {
    location_ += code_units * program_.cie.code_alignment;
    arrived_ = location_ > address_;
  }

  bool set(uint64_t number, Rule rule) {
    // Vector registers and the like have numbers too, and no part in unwinding.
    if (number < kRegisters) {
      row_.registers[number] = rule;
    }
    return true;
  }

  bool set_cfa(uint64_t number, int64_t offset) {
    if (number >= kRegisters) {
      return false;
    }
    row_.cfa = {.kind = Rule::Kind::kOffset, .reg = static_cast<uint8_t>(number), .offset = offset};
    return true;
  }

  bool restore(uint64_t number) {
    return set(number, number < kRegisters ? first_row_.registers[number] : Rule());
  }

  int64_t factored(int64_t offset) const {
    return static_cast<int64_t>(static_cast<uint64_t>(offset) *
                                static_cast<uint64_t>(program_.cie.data_alignment));
  }
  int64_t factored(uint64_t offset) const { return factored(static_cast<int64_t>(offset)); }

  static Rule at_offset(int64_t offset) { return {.kind = Rule::Kind::kAtOffset, .offset = offset}; }
  static Rule value_offset(int64_t offset) { return {.kind = Rule::Kind::kOffset, .offset = offset}; }

  Rule expression(ByteReader& reader, uint32_t program_offset, Rule::Kind kind) const {
    const uint64_t size_bytes = reader.uleb128();
    const auto offset = static_cast<uint32_t>(program_offset + reader.offset());
    reader.skip(size_bytes);
    return {.kind = kind,
            .expression_offset = offset,
            .expression_bytes = reader.ok() ? static_cast<uint32_t>(size_bytes) : 0};
  }

  bool remember() {
    if (remembered_.size() == kMaxRemembered) {
      return false;
    }
    remembered_.push_back(row_);
    return true;
  }

  bool recall() {
    if (remembered_.empty()) {
      return false;
    }
    row_ = remembered_.back();
    remembered_.pop_back();
    return true;
  }

  bool step(ByteReader& reader, uint32_t program_offset) {
    const auto instruction = reader.read<uint8_t>();
    const uint8_t low = instruction & 0x3fU;
    switch (instruction & 0xc0U) {
      case DW_CFA_advance_loc:
        advance(low);
        return true;
      case DW_CFA_offset:
        return set(low, at_offset(factored(reader.uleb128())));
      case DW_CFA_restore:
        return restore(low);
      default:
        return step_extended(instruction, reader, program_offset) ||
               step_cfa(instruction, reader, program_offset);
    }
  }

  bool step_cfa(uint8_t instruction, ByteReader& reader, uint32_t program_offset) {
    switch (instruction) {
      case DW_CFA_def_cfa: {
        const uint64_t number = reader.uleb128();
        return set_cfa(number, static_cast<int64_t>(reader.uleb128()));
      }
      case DW_CFA_def_cfa_sf: {
        const uint64_t number = reader.uleb128();
        return set_cfa(number, factored(reader.sleb128()));
      }
      case DW_CFA_def_cfa_register:
        return set_cfa(reader.uleb128(), row_.cfa.offset);
      case DW_CFA_def_cfa_offset:
        row_.cfa.offset = static_cast<int64_t>(reader.uleb128());
        return row_.cfa.kind == Rule::Kind::kOffset;
      case DW_CFA_def_cfa_offset_sf:
        row_.cfa.offset = factored(reader.sleb128());
        return row_.cfa.kind == Rule::Kind::kOffset;
      case DW_CFA_def_cfa_expression:
        row_.cfa = expression(reader, program_offset, Rule::Kind::kExpression);
        return true;
      default:
        return false;
    }
  }

  bool step_location(uint8_t instruction, ByteReader& reader, uint32_t program_offset) {
    switch (instruction) {
      case DW_CFA_advance_loc1:
        advance(reader.read<uint8_t>());
        return true;
      case DW_CFA_advance_loc2:
        advance(reader.read<uint16_t>());
        return true;
      case DW_CFA_advance_loc4:
        advance(reader.read<uint32_t>());
        return true;
      case DW_CFA_set_loc: {
        const auto location =
            read_encoded(reader, program_.cie.pointer_encoding, program_.table_address + program_offset);
        location_ = location.value_or(UINT64_MAX);
        arrived_ = location_ > address_;
        return location.has_value();
      }
      default:
        return false;
    }
  }

  bool step_extended(uint8_t instruction, ByteReader& reader, uint32_t program_offset) {
    switch (instruction) {
      case DW_CFA_nop:
        return true;
      case DW_CFA_remember_state:
        return remember();
      case DW_CFA_restore_state:
        return recall();
      case DW_CFA_GNU_args_size:
        reader.uleb128();
        return true;
      case DW_CFA_restore_extended:
        return restore(reader.uleb128());
      case DW_CFA_same_value:
        return set(reader.uleb128(), Rule());
      case DW_CFA_undefined:
        return set(reader.uleb128(), {.kind = Rule::Kind::kUndefined});
      case DW_CFA_set_loc:
      case DW_CFA_advance_loc1:
      case DW_CFA_advance_loc2:
      case DW_CFA_advance_loc4:
        return step_location(instruction, reader, program_offset);
      default:
        return step_register(instruction, reader, program_offset);
    }
  }

  // Those whose first operand is the register that they are about.
  bool step_register(uint8_t instruction, ByteReader& reader, uint32_t program_offset) {
    switch (instruction) {
      case DW_CFA_offset_extended:
      case DW_CFA_offset_extended_sf:
      case DW_CFA_GNU_negative_offset_extended:
      case DW_CFA_val_offset:
      case DW_CFA_val_offset_sf:
      case DW_CFA_register:
      case DW_CFA_expression:
      case DW_CFA_val_expression:
        break;
      default:
        return false;
    }
    const uint64_t number = reader.uleb128();
    switch (instruction) {
      case DW_CFA_offset_extended:
        return set(number, at_offset(factored(reader.uleb128())));
      case DW_CFA_offset_extended_sf:
        return set(number, at_offset(factored(reader.sleb128())));
      case DW_CFA_GNU_negative_offset_extended:
        return set(number, at_offset(factored(0 - reader.uleb128())));
      case DW_CFA_val_offset:
        return set(number, value_offset(factored(reader.uleb128())));
      case DW_CFA_val_offset_sf:
        return set(number, value_offset(factored(reader.sleb128())));
      case DW_CFA_expression:
        return set(number, expression(reader, program_offset, Rule::Kind::kAtExpression));
      case DW_CFA_val_expression:
        return set(number, expression(reader, program_offset, Rule::Kind::kExpression));
      default: {
        const uint64_t other = reader.uleb128();
        return other < kRegisters &&
               set(number, {.kind = Rule::Kind::kRegister, .reg = static_cast<uint8_t>(other)});
      }
    }
  }

  const CfiProgram& program_;
  const uint64_t address_;
  UnwindRow& row_;
  UnwindRow first_row_;  // of the CIE: what DW_CFA_restore goes back to
  uint64_t location_;
  bool arrived_ = false;
  int instructions_ = 0;
  std::vector<UnwindRow> remembered_;
};

}  // namespace

bool run(const CfiProgram& program, uint64_t address, UnwindRow& row) {
  return Interpreter(program, address, row).run();
}

}  // namespace plimsoll::unwind
