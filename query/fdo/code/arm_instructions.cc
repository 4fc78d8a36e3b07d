#include <algorithm>
#include <span>

#include "query/fdo/code/instructions.h"

namespace plimsoll::fdo {
namespace {

uint8_t arm_register(unsigned reg) {
  if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28) {
    return static_cast<uint8_t>(reg - ARM64_REG_X0);
  }
  if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30) {
    return static_cast<uint8_t>(reg - ARM64_REG_W0);
  }
  return reg == ARM64_REG_X29 ? 29 : reg == ARM64_REG_X30 ? 30 : kNoRegister;
}

MemoryOperand arm_memory_of(const cs_arm64_op& operand) {
  constexpr unsigned kMostShift = 4;
  return {arm_register(operand.mem.base),
          arm_register(operand.mem.index),
          static_cast<uint8_t>(1U << std::min(operand.shift.value, kMostShift)),
          operand.mem.disp,
          false,
          operand.mem.base == ARM64_REG_SP || (operand.mem.base == ARM64_REG_FP && operand.mem.disp < 0)};
}

Role arm_role(const cs_insn& insn, Decoded& decoded) {
  const cs_arm64& arm = insn.detail->arm64;
  if (arm.op_count < 2 || arm.operands[0].type != ARM64_OP_REG) {
    return Role::kOther;
  }
  const cs_arm64_op& last = arm.operands[arm.op_count - 1];
  decoded.destination = arm_register(arm.operands[0].reg);
  decoded.source = last.type == ARM64_OP_REG ? arm_register(last.reg) : kNoRegister;
  switch (insn.id) {
    case ARM64_INS_MOV:
      return last.type == ARM64_OP_REG ? Role::kMove : Role::kOther;
    case ARM64_INS_LDR:
    case ARM64_INS_LDUR:
      if (arm.op_count != 2 || last.type != ARM64_OP_MEM) {
        return Role::kOther;
      }
      return last.mem.index != ARM64_REG_INVALID && last.shift.value == 0 ? Role::kLoadMember : Role::kLoad;
    case ARM64_INS_LDRSW:
      return Role::kLoadSigned;
    case ARM64_INS_ADR:
    case ARM64_INS_ADRP:
      return Role::kAddress;
    case ARM64_INS_ADD:
      return last.type == ARM64_OP_REG ? Role::kAdd : Role::kOther;
    default:
      return Role::kOther;
  }
}

void describe_arm_registers(const cs_insn& insn, Decoded& decoded) {
  const cs_arm64& arm = insn.detail->arm64;
  decoded.role = arm_role(insn, decoded);
  for (const cs_arm64_op& operand : std::span(arm.operands).first(arm.op_count)) {
    uint8_t written = kNoRegister;
    if (operand.type == ARM64_OP_MEM) {
      decoded.memory = arm_memory_of(operand);
      decoded.has_memory = true;
      written = arm.writeback ? decoded.memory.base : kNoRegister;
    } else if (operand.type == ARM64_OP_REG) {
      if (decoded.flow == ControlFlow::kIndirectJump) {
        decoded.source = arm_register(operand.reg);
      }
      written = (operand.access & CS_AC_WRITE) != 0 ? arm_register(operand.reg) : kNoRegister;
    }
    if (written < kRegisters) {
      decoded.written |= 1U << written;
    }
  }
  if (decoded.flow == ControlFlow::kCall) {
    constexpr uint32_t kCallClobbered = 0x4007ffff;  // x0 to x18, x30 (AAPCS64)
    decoded.written |= kCallClobbered;
  }
}

ControlFlow arm_flow(const cs_insn& insn) {
  switch (insn.id) {
    case ARM64_INS_B:
      return insn.detail->arm64.cc == ARM64_CC_INVALID || insn.detail->arm64.cc == ARM64_CC_AL
                 ? ControlFlow::kJump
                 : ControlFlow::kConditional;
    case ARM64_INS_CBZ:
    case ARM64_INS_CBNZ:
    case ARM64_INS_TBZ:
    case ARM64_INS_TBNZ:
      return ControlFlow::kConditional;
    case ARM64_INS_BL:
    case ARM64_INS_BLR:
      return ControlFlow::kCall;
    case ARM64_INS_BR:
      return ControlFlow::kIndirectJump;
    case ARM64_INS_RET:
    case ARM64_INS_ERET:
      return ControlFlow::kReturn;
    case ARM64_INS_BRK:
    case ARM64_INS_HLT:
      return ControlFlow::kStop;
    default:
      return ControlFlow::kNext;
  }
}

CostClass arm_cost(const cs_insn& insn, ControlFlow flow) {
  if (flow == ControlFlow::kCall || flow == ControlFlow::kReturn) {
    return CostClass::kCall;
  }
  if (flow != ControlFlow::kNext) {
    return CostClass::kBranch;
  }
  if (insn.id == ARM64_INS_NOP || starts_with(insn, "hint") || starts_with(insn, "bti")) {
    return CostClass::kNothing;
  }
  if (starts_with(insn, "ldax") || starts_with(insn, "stlx") || starts_with(insn, "svc") ||
      starts_with(insn, "cas") || starts_with(insn, "dmb")) {
    return CostClass::kSlow;
  }
  if (starts_with(insn, "ld")) {
    return CostClass::kLoad;
  }
  if (starts_with(insn, "st")) {
    return CostClass::kStore;
  }
  if (contains(insn, "div") || contains(insn, "sqrt")) {
    return CostClass::kDivide;
  }
  return contains(insn, "mul") || contains(insn, "madd") || (starts_with(insn, "f") && !contains(insn, "mov"))
             ? CostClass::kMultiply
             : CostClass::kSimple;
}

}  // namespace

void describe_arm(const cs_insn& insn, Decoded& decoded) {
  decoded.flow = arm_flow(insn);
  decoded.cost = arm_cost(insn, decoded.flow);
  describe_arm_registers(insn, decoded);
  const cs_arm64& arm = insn.detail->arm64;
  if (decoded.flow == ControlFlow::kNext || arm.op_count == 0) {
    return;
  }
  const cs_arm64_op& last = arm.operands[arm.op_count - 1];
  if (last.type == ARM64_OP_IMM && decoded.flow != ControlFlow::kStop) {
    decoded.target = static_cast<uint64_t>(last.imm);
    decoded.has_target = true;
  }
}

}  // namespace plimsoll::fdo
