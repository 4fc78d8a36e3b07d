#include "capture/unwind/dwarf_expression.h"

#include <dwarf.h>

#include <array>

namespace plimsoll::unwind {
namespace {

constexpr size_t kMaxValues = 64;
constexpr int kMaxOperations = 200;

// One evaluation. A failure is noted once, and ends it.
class Machine {
 public:
  Machine(Bytes expression, const Registers& registers, const StackCopy& stack)
      : reader_(expression), registers_(registers), stack_(stack) {}

  ExpressionValue run(std::optional<uint64_t> initial) {
    if (initial) {
      push(*initial);
    }
    for (int operation = 0; reader_.remaining() > 0 && !failed_; ++operation) {
      if (operation == kMaxOperations) {
        fail_with(ExpressionFailure::kMalformed);
        break;
      }
      step(reader_.read<uint8_t>());
      ++result_.operations;
    }
    const uint64_t result = pop();
    if (!reader_.ok()) {
      fail_with(ExpressionFailure::kMalformed);
    }
    if (!failed_) {
      result_.value = result;
    }
    return result_;
  }

 private:
  void fail_with(ExpressionFailure failure) {
    if (!failed_) {
      failed_ = true;
      result_.failure = failure;
    }
  }

  void push(uint64_t value) {
    if (depth_ == kMaxValues) {
      fail_with(ExpressionFailure::kMalformed);
      return;
    }
    values_[depth_++] = value;
  }

  uint64_t pop() {
    if (depth_ == 0) {
      fail_with(ExpressionFailure::kMalformed);
      return 0;
    }
    return values_[--depth_];
  }

  // The value `below` the top one.
  uint64_t peek(size_t below) {
    if (below >= depth_) {
      fail_with(ExpressionFailure::kMalformed);
      return 0;
    }
    return values_[depth_ - 1 - below];
  }

  void push_register(uint64_t number) {
    const int64_t offset = reader_.sleb128();
    if (!registers_.knows(number)) {
      fail_with(ExpressionFailure::kUnknownRegister);
      return;
    }
    push(registers_[number] + static_cast<uint64_t>(offset));
  }

  void dereference(unsigned bytes) {
    const uint64_t address = pop();
    const auto word = stack_.word(address);
    if (!word) {
      result_.address = address;
      fail_with(ExpressionFailure::kOutsideStack);
      return;
    }
    push(bytes >= 8 ? *word : *word & ((uint64_t{1} << bytes * 8) - 1));
  }

  void jump() {
    const auto distance = reader_.read<int16_t>();
    const auto target = static_cast<int64_t>(reader_.offset()) + distance;
    reader_.seek(target < 0 ? UINT64_MAX : static_cast<uint64_t>(target));
  }

  void rotate() {
    const uint64_t top = pop();
    const uint64_t second = pop();
    const uint64_t third = pop();
    push(top);
    push(third);
    push(second);
  }

  // Operations on the second value and the top one, in this order.
  void binary(uint8_t operation) {
    const uint64_t b = pop();
    const uint64_t a = pop();
    const auto signed_a = static_cast<int64_t>(a);
    const auto signed_b = static_cast<int64_t>(b);
    switch (operation) {
      case DW_OP_and:
        return push(a & b);
      case DW_OP_or:
        return push(a | b);
      case DW_OP_xor:
        return push(a ^ b);
      case DW_OP_plus:
        return push(a + b);
      case DW_OP_minus:
        return push(a - b);
      case DW_OP_mul:
        return push(a * b);
      case DW_OP_div:
        // The one quotient that does not fit is as undefined as that by zero.
        return b == 0 || (signed_a == INT64_MIN && signed_b == -1)
                   ? fail_with(ExpressionFailure::kMalformed)
                   : push(static_cast<uint64_t>(signed_a / signed_b));
      case DW_OP_mod:
        return b == 0 ? fail_with(ExpressionFailure::kMalformed) : push(a % b);
      case DW_OP_shl:
        return push(b < 64 ? a << b : 0);
      case DW_OP_shr:
        return push(b < 64 ? a >> b : 0);
      case DW_OP_shra:
        return push(static_cast<uint64_t>(signed_a >> (b < 64 ? b : 63)));
      case DW_OP_eq:
        return push(a == b ? 1 : 0);
      case DW_OP_ne:
        return push(a != b ? 1 : 0);
      case DW_OP_lt:
        return push(signed_a < signed_b ? 1 : 0);
      case DW_OP_le:
        return push(signed_a <= signed_b ? 1 : 0);
      case DW_OP_gt:
        return push(signed_a > signed_b ? 1 : 0);
      case DW_OP_ge:
        return push(signed_a >= signed_b ? 1 : 0);
      default:
        return fail_with(ExpressionFailure::kMalformed);
    }
  }

  bool constant(uint8_t operation) {
    switch (operation) {
      case DW_OP_const1u:
        push(reader_.read<uint8_t>());
        return true;
      case DW_OP_const1s:
        push(static_cast<uint64_t>(int64_t{reader_.read<int8_t>()}));
        return true;
      case DW_OP_const2u:
        push(reader_.read<uint16_t>());
        return true;
      case DW_OP_const2s:
        push(static_cast<uint64_t>(int64_t{reader_.read<int16_t>()}));
        return true;
      case DW_OP_const4u:
        push(reader_.read<uint32_t>());
        return true;
      case DW_OP_const4s:
        push(static_cast<uint64_t>(int64_t{reader_.read<int32_t>()}));
        return true;
      case DW_OP_const8u:
      case DW_OP_const8s:
        push(reader_.read<uint64_t>());
        return true;
      case DW_OP_constu:
        push(reader_.uleb128());
        return true;
      case DW_OP_consts:
        push(static_cast<uint64_t>(reader_.sleb128()));
        return true;
      default:
        return false;
    }
  }

  void step(uint8_t operation) {
    if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31) {
      return push(operation - DW_OP_lit0);
    }
    if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31) {
      return push_register(operation - DW_OP_breg0);
    }
    if (constant(operation)) {
      return;
    }
    switch (operation) {
      case DW_OP_nop:
        return;
      case DW_OP_bregx:
        return push_register(reader_.uleb128());
      case DW_OP_deref:
        return dereference(8);
      case DW_OP_deref_size: {
        const auto bytes = reader_.read<uint8_t>();
        return bytes == 0 || bytes > 8 ? fail_with(ExpressionFailure::kMalformed) : dereference(bytes);
      }
      case DW_OP_dup:
        return push(peek(0));
      case DW_OP_over:
        return push(peek(1));
      case DW_OP_pick:
        return push(peek(reader_.read<uint8_t>()));
      case DW_OP_drop:
        pop();
        return;
      case DW_OP_swap: {
        const uint64_t top = pop();
        const uint64_t second = pop();
        push(top);
        return push(second);
      }
      case DW_OP_rot:
        return rotate();
      case DW_OP_abs: {
        const uint64_t value = pop();
        return push(static_cast<int64_t>(value) < 0 ? 0 - value : value);
      }
      case DW_OP_neg:
        return push(0 - pop());
      case DW_OP_not:
        return push(~pop());
      case DW_OP_plus_uconst:
        return push(pop() + reader_.uleb128());
      case DW_OP_skip:
        return jump();
      case DW_OP_bra:
        if (pop() != 0) {
          return jump();
        }
        reader_.skip(2);
        return;
      default:
        return binary(operation);
    }
  }

  ByteReader reader_;
  const Registers& registers_;
  const StackCopy& stack_;
  std::array<uint64_t, kMaxValues> values_;
  size_t depth_ = 0;
  bool failed_ = false;
  ExpressionValue result_;
};

}  // namespace

ExpressionValue evaluate(Bytes expression, const Registers& registers, const StackCopy& stack,
                         std::optional<uint64_t> initial) {
  return Machine(expression, registers, stack).run(initial);
}

}  // namespace plimsoll::unwind
