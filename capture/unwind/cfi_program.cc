#include "capture/unwind/cfi_program.h"

#include <dwarf.h>

#include "capture/unwind/encoded_pointer.h"

namespace plimsoll::unwind {
namespace {

constexpr size_t kMaxRemembered = 32;
constexpr size_t kMaxPoolBytes = size_t{1} << 20;

class Interpreter {
 public:
  Interpreter(const CfiProgram& program, ExpressionPool& expressions, const RowSink& sink)
      : program_(program),
        expressions_(expressions),
        sink_(sink),
        row_(program.common.first_row),
        location_(program.begin) {}

  bool run() {
    ByteReader reader(program_.instructions);
    while (reader.remaining() > 0) {
      if (!step(reader) || !reader.ok()) {
        return false;
      }
    }
    if (changed_) {
      sink_(location_, row_);
    }
    return true;
  }

  // The row that was being made holds from here on.
  uint64_t location() const { return location_; }

 private:
  // The row is complete, and the next one holds from `location` on. Locations only grow.
  bool move_to(uint64_t location) {
    if (location < location_) {
      return false;
    }
    if (location > location_ && changed_) {
      sink_(location_, row_);
      changed_ = false;
    }
    location_ = location;
    return true;
  }

  bool advance(uint64_t code_units) {
    return move_to(location_ + code_units * program_.common.code_alignment);
  }

  bool set(uint64_t number, Rule rule) {
    // Vector registers and the like have numbers too, and no part in unwinding.
    if (number < kRegisters) {
      row_.registers[number] = rule;
      changed_ = true;
    }
    return true;
  }

  bool set_cfa(uint64_t number, int64_t offset) {
    if (number >= kRegisters) {
      return false;
    }
    row_.cfa = {.kind = Rule::Kind::kOffset, .reg = static_cast<uint8_t>(number), .offset = offset};
    changed_ = true;
    return true;
  }

  bool is_offset_cfa() const { return row_.cfa.kind == Rule::Kind::kOffset; }

  bool restore(uint64_t number) {
    return set(number, number < kRegisters ? program_.common.first_row.registers[number] : Rule());
  }

  int64_t factored(int64_t offset) const {
    return static_cast<int64_t>(static_cast<uint64_t>(offset) *
                                static_cast<uint64_t>(program_.common.data_alignment));
  }
  int64_t factored(uint64_t offset) const { return factored(static_cast<int64_t>(offset)); }

  static Rule at_offset(int64_t offset) { return {.kind = Rule::Kind::kAtOffset, .offset = offset}; }
  static Rule value_offset(int64_t offset) { return {.kind = Rule::Kind::kOffset, .offset = offset}; }

  bool expression(ByteReader& reader, Rule::Kind kind, Rule& rule) {
    const Bytes bytes = reader.bytes(reader.uleb128());
    const auto offset = reader.ok() ? expressions_.add(bytes) : std::nullopt;
    rule = {.kind = kind,
            .expression_offset = offset.value_or(0),
            .expression_bytes = static_cast<uint32_t>(bytes.size())};
    return offset.has_value();
  }

  bool set_expression(uint64_t number, ByteReader& reader, Rule::Kind kind) {
    Rule rule;
    return expression(reader, kind, rule) && set(number, rule);
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
    changed_ = true;
    return true;
  }

  bool step(ByteReader& reader) {
    const auto instruction = reader.read<uint8_t>();
    const uint8_t low = instruction & 0x3fU;
    switch (instruction & 0xc0U) {
      case DW_CFA_advance_loc:
        return advance(low);
      case DW_CFA_offset:
        return set(low, at_offset(factored(reader.uleb128())));
      case DW_CFA_restore:
        return restore(low);
      default:
        return step_extended(instruction, reader) || step_cfa(instruction, reader);
    }
  }

  bool step_cfa(uint8_t instruction, ByteReader& reader) {
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
        return is_offset_cfa() && set_cfa(reader.uleb128(), row_.cfa.offset);
      case DW_CFA_def_cfa_offset:
        return is_offset_cfa() && set_cfa(row_.cfa.reg, static_cast<int64_t>(reader.uleb128()));
      case DW_CFA_def_cfa_offset_sf:
        return is_offset_cfa() && set_cfa(row_.cfa.reg, factored(reader.sleb128()));
      case DW_CFA_def_cfa_expression:
        changed_ = true;
        return expression(reader, Rule::Kind::kExpression, row_.cfa);
      default:
        return false;
    }
  }

  bool step_location(uint8_t instruction, ByteReader& reader) {
    switch (instruction) {
      case DW_CFA_advance_loc1:
        return advance(reader.read<uint8_t>());
      case DW_CFA_advance_loc2:
        return advance(reader.read<uint16_t>());
      case DW_CFA_advance_loc4:
        return advance(reader.read<uint32_t>());
      case DW_CFA_set_loc: {
        const auto location = read_encoded(reader, program_.common.pointer_encoding, program_.address);
        return location && move_to(*location);
      }
      default:
        return false;
    }
  }

  bool step_extended(uint8_t instruction, ByteReader& reader) {
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
        return step_location(instruction, reader);
      default:
        return step_register(instruction, reader);
    }
  }

  // Those whose first operand is the register that they are about.
  bool step_register(uint8_t instruction, ByteReader& reader) {
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
        return set_expression(number, reader, Rule::Kind::kAtExpression);
      case DW_CFA_val_expression:
        return set_expression(number, reader, Rule::Kind::kExpression);
      default: {
        const uint64_t other = reader.uleb128();
        return other < kRegisters &&
               set(number, {.kind = Rule::Kind::kRegister, .reg = static_cast<uint8_t>(other)});
      }
    }
  }

  const CfiProgram& program_;
  ExpressionPool& expressions_;
  const RowSink& sink_;
  UnwindRow row_;
  uint64_t location_;
  bool changed_ = true;  // since the newest row was handed over
  std::vector<UnwindRow> remembered_;
};

}  // namespace

std::optional<uint32_t> ExpressionPool::add(Bytes expression) {
  const std::string_view text = as_text(expression);
  if (const auto known = offsets_.find(text); known != offsets_.end()) {
    return known->second;
  }
  if (text.size() > kMaxPoolBytes - bytes_.size()) {
    return std::nullopt;
  }
  const auto offset = static_cast<uint32_t>(bytes_.size());
  bytes_ += text;
  offsets_.emplace(text, offset);
  return offset;
}

bool run(const CfiProgram& program, ExpressionPool& expressions, const RowSink& sink,
         uint64_t& damaged_from) {
  Interpreter interpreter(program, expressions, sink);
  const bool is_sound = interpreter.run();
  damaged_from = interpreter.location();
  return is_sound;
}

}  // namespace plimsoll::unwind
