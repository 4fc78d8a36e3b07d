#include "capture/unwind/generic_row_step.h"

#include "capture/unwind/dwarf_expression.h"

namespace plimsoll::unwind {

std::optional<uint64_t> GenericRowStep::value_of_expression(const Rule& rule, const Registers& frame,
                                                            std::optional<uint64_t> cfa, StackEnd& end) {
  end = StackEnd::kDamagedUnwindInformation;
  if (operations_left_ <= 0) {
    return std::nullopt;
  }
  const auto result = evaluate(table_.expression(rule), frame, stack_, cfa);
  operations_left_ -= result.operations;
  if (!result.value && result.failure == ExpressionFailure::kOutsideStack) {
    end = why_not_held(stack_, result.address);
  }
  return result.value;
}

// Where the caller's stack pointer was at the call.
std::optional<uint64_t> GenericRowStep::canonical_frame_address(const Rule& rule, const Registers& frame,
                                                                StackEnd& end) {
  if (rule.kind == Rule::Kind::kExpression) {
    return value_of_expression(rule, frame, std::nullopt, end);
  }
  if (rule.kind != Rule::Kind::kOffset || !frame.knows(rule.reg)) {
    // The register's value was saved where this copy does not reach.
    end = rule.kind == Rule::Kind::kOffset ? StackEnd::kOutsideStack : StackEnd::kDamagedUnwindInformation;
    return std::nullopt;
  }
  return frame[rule.reg] + static_cast<uint64_t>(rule.offset);
}

// The caller's value of one register; nothing where it is lost, or, with the reason in `end`, cannot be read.
std::optional<uint64_t> GenericRowStep::callers_value(const Rule& rule, uint64_t number,
                                                      const Registers& frame, uint64_t cfa, StackEnd& end) {
  const auto unchanged = [&](uint64_t other) {
    return frame.knows(other) ? std::optional(frame[other]) : std::nullopt;
  };
  switch (rule.kind) {
    case Rule::Kind::kSame:
      return unchanged(number);
    case Rule::Kind::kUndefined:
      return std::nullopt;
    case Rule::Kind::kOffset:
      return cfa + static_cast<uint64_t>(rule.offset);
    case Rule::Kind::kAtOffset: {
      const uint64_t address = cfa + static_cast<uint64_t>(rule.offset);
      // Compilers do not say that an epilogue has popped a register: its slot, below the stack pointer by now, is still
      // what the rule names, and the register has the value again.
      const bool is_popped = number != kRip && address < frame[kRsp];
      return is_popped ? unchanged(number) : read_word(stack_, address, end);
    }
    case Rule::Kind::kRegister:
      return unchanged(rule.reg);
    case Rule::Kind::kAtExpression: {
      const auto address = value_of_expression(rule, frame, cfa, end);
      return address ? read_word(stack_, *address, end) : std::nullopt;
    }
    case Rule::Kind::kExpression:
      return value_of_expression(rule, frame, cfa, end);
  }
  return std::nullopt;
}

bool GenericRowStep::step(const FrameRule& rule, Registers& frame, StackEnd& end) {
  const UnwindRow& row = table_.generic_row(rule);
  const Rule& of_return_address = row.registers[kRip];
  const auto cfa = canonical_frame_address(row.cfa, frame, end);
  if (!cfa) {
    return false;
  }
  if (of_return_address.kind == Rule::Kind::kUndefined) {
    end = StackEnd::kOutermost;
    return false;
  }
  end = StackEnd::kDamagedUnwindInformation;
  // Frames lie one above the other, but for a signal handler that runs on a stack of its own.
  if ((*cfa <= frame[kRsp] && !row.is_signal_frame) || of_return_address.kind == Rule::Kind::kSame) {
    return false;
  }
  const auto return_address = callers_value(of_return_address, kRip, frame, *cfa, end);
  if (!return_address || *return_address == 0) {
    end = return_address ? StackEnd::kOutermost : end;
    return false;
  }
  Registers caller;
  caller.set(kRip, *return_address);
  caller.set(kRsp, *cfa);
  for (uint64_t number = 0; number < kRip; ++number) {
    const Rule& of_register = row.registers[number];
    if (number == kRsp && of_register.kind == Rule::Kind::kSame) {
      continue;
    }
    // One that cannot be had matters only where a caller's rule needs it.
    StackEnd unused{};
    if (const auto value = callers_value(of_register, number, frame, *cfa, unused)) {
      caller.set(number, *value);
    }
  }
  frame = caller;
  return true;
}

}  // namespace plimsoll::unwind
