#include <algorithm>
#include <array>
#include <span>

#include "query/fdo/code/instructions.h"

namespace plimsoll::fdo {
namespace {

uint8_t general_register(unsigned reg) {
  // By the encoding's number; in the order 64, 32, 16 and 8 bits, then the old upper halves.
  static constexpr std::array<std::array<x86_reg, 4>, 16> kRegisters = {{
      {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL},
      {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL},
      {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL},
      {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL},
      {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},
      {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
      {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
      {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
      {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
      {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
      {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B},
      {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B},
      {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B},
      {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B},
      {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B},
      {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B},
  }};
  static const std::array<uint8_t, X86_REG_ENDING> numbers = [] {
    std::array<uint8_t, X86_REG_ENDING> all{};
    all.fill(kNoRegister);
    for (size_t number = 0; number < kRegisters.size(); ++number) {
      for (const x86_reg name : kRegisters[number]) {
        all[name] = static_cast<uint8_t>(number);
      }
    }
    all[X86_REG_AH] = 0;
    all[X86_REG_CH] = 1;
    all[X86_REG_DH] = 2;
    all[X86_REG_BH] = 3;
    all[X86_REG_RIP] = kInstructionPointer;
    return all;
  }();
  return reg < numbers.size() ? numbers[reg] : kNoRegister;
}

bool is_general(uint8_t reg) {
  return reg < 16;
}

bool in_group(const cs_insn& insn, uint8_t group) {
  const cs_detail& detail = *insn.detail;
  const auto groups = std::span(detail.groups).first(detail.groups_count);
  return std::ranges::find(groups, group) != groups.end();
}

MemoryOperand memory_of(const x86_op_mem& memory, uint64_t next) {
  MemoryOperand operand{general_register(memory.base), general_register(memory.index),
                        static_cast<uint8_t>(memory.scale), memory.disp, memory.segment != X86_REG_INVALID};
  operand.is_stack = memory.base == X86_REG_RSP || (memory.base == X86_REG_RBP && operand.displacement < 0);
  if (operand.base == kInstructionPointer) {
    operand.displacement = static_cast<int64_t>(next + static_cast<uint64_t>(memory.disp));
  }
  return operand;
}

ControlFlow x86_flow(const cs_insn& insn) {
  const bool is_direct = insn.detail->x86.op_count == 1 && insn.detail->x86.operands[0].type == X86_OP_IMM;
  switch (insn.id) {
    case X86_INS_JMP:
      return is_direct ? ControlFlow::kJump : ControlFlow::kIndirectJump;
    case X86_INS_LJMP:
    case X86_INS_HLT:
    case X86_INS_UD2:
    case X86_INS_UD2B:
    case X86_INS_INT3:
      return ControlFlow::kStop;
    case X86_INS_CALL:
    case X86_INS_LCALL:
      return ControlFlow::kCall;
    case X86_INS_RET:
    case X86_INS_RETF:
    case X86_INS_RETFQ:
    case X86_INS_IRET:
    case X86_INS_IRETD:
    case X86_INS_IRETQ:
    case X86_INS_SYSRET:
    case X86_INS_SYSEXIT:
      return ControlFlow::kReturn;
    case X86_INS_LOOP:
    case X86_INS_LOOPE:
    case X86_INS_LOOPNE:
    case X86_INS_JCXZ:
    case X86_INS_JECXZ:
    case X86_INS_JRCXZ:
      return ControlFlow::kConditional;
    default:
      return is_direct && in_group(insn, X86_GRP_JUMP) ? ControlFlow::kConditional : ControlFlow::kNext;
  }
}

bool is_string_instruction(unsigned id) {
  switch (id) {
    case X86_INS_MOVSB:
    case X86_INS_MOVSW:
    case X86_INS_MOVSQ:
    case X86_INS_STOSB:
    case X86_INS_STOSW:
    case X86_INS_STOSD:
    case X86_INS_STOSQ:
    case X86_INS_CMPSB:
    case X86_INS_SCASB:
      return true;
    default:
      return false;
  }
}

CostClass x86_cost(const cs_insn& insn, ControlFlow flow) {
  const cs_x86& x86 = insn.detail->x86;
  if (insn.id == X86_INS_NOP || insn.id == X86_INS_INT3 || starts_with(insn, "endbr")) {
    return CostClass::kNothing;
  }
  if (flow == ControlFlow::kCall || flow == ControlFlow::kReturn) {
    return CostClass::kCall;
  }
  if (flow != ControlFlow::kNext) {
    return CostClass::kBranch;
  }
  const bool repeats = x86.prefix[0] == X86_PREFIX_REP || x86.prefix[0] == X86_PREFIX_REPNE;
  if (x86.prefix[0] == X86_PREFIX_LOCK || (repeats && is_string_instruction(insn.id)) ||
      insn.id == X86_INS_CPUID || insn.id == X86_INS_SYSCALL || insn.id == X86_INS_RDTSC) {
    return CostClass::kSlow;
  }
  if (contains(insn, "div") || contains(insn, "sqrt")) {
    return CostClass::kDivide;
  }
  bool reads = insn.id == X86_INS_POP;
  bool writes = insn.id == X86_INS_PUSH;
  for (const cs_x86_op& operand : std::span(x86.operands).first(x86.op_count)) {
    if (operand.type == X86_OP_MEM && insn.id != X86_INS_LEA) {
      reads = reads || (operand.access & CS_AC_WRITE) == 0 || (operand.access & CS_AC_READ) != 0;
      writes = writes || (operand.access & CS_AC_WRITE) != 0;
    }
  }
  if (reads || writes) {
    return reads ? CostClass::kLoad : CostClass::kStore;
  }
  const bool is_float = contains(insn, "mul") || contains(insn, "ss") || contains(insn, "sd") ||
                        contains(insn, "pd") || starts_with(insn, "f");
  return is_float && !contains(insn, "mov") ? CostClass::kMultiply : CostClass::kSimple;
}

Role x86_role(const cs_insn& insn, Decoded& decoded) {
  const cs_x86& x86 = insn.detail->x86;
  switch (insn.id) {
    case X86_INS_JA:
      return Role::kJumpAbove;
    case X86_INS_JAE:
      return Role::kJumpNotBelow;
    case X86_INS_JBE:
      return Role::kJumpNotAbove;
    case X86_INS_JB:
      return Role::kJumpBelow;
    default:
      break;
  }
  if (x86.op_count != 2) {
    return Role::kOther;
  }
  const cs_x86_op& to = x86.operands[0];
  const cs_x86_op& from = x86.operands[1];
  decoded.destination = to.type == X86_OP_REG ? general_register(to.reg) : kNoRegister;
  decoded.source = from.type == X86_OP_REG ? general_register(from.reg) : kNoRegister;
  switch (insn.id) {
    case X86_INS_CMP:
      decoded.immediate = from.type == X86_OP_IMM ? from.imm : 0;
      return from.type == X86_OP_IMM ? Role::kCompare : Role::kOther;
    case X86_INS_AND:
      decoded.immediate = from.type == X86_OP_IMM ? from.imm : 0;
      return from.type == X86_OP_IMM ? Role::kMask : Role::kOther;
    case X86_INS_MOV:
    case X86_INS_MOVZX:
      // What is narrower than 32 bits leaves the upper bits of the destination as they were.
      if (to.type != X86_OP_REG || to.size < 4) {
        return Role::kOther;
      }
      if (from.type == X86_OP_MEM && to.size == 8 && from.mem.index != X86_REG_INVALID &&
          from.mem.scale == 1 && from.mem.disp == -1) {
        return Role::kLoadMember;  // virtual ones are 1 more than their offset
      }
      return from.type == X86_OP_REG ? Role::kMove : from.type == X86_OP_MEM ? Role::kLoad : Role::kOther;
    case X86_INS_MOVSXD:
      return from.type == X86_OP_MEM   ? Role::kLoadSigned
             : from.type == X86_OP_REG ? Role::kMove
                                       : Role::kOther;
    case X86_INS_LEA:
      return Role::kAddress;
    case X86_INS_ADD:
      return from.type == X86_OP_REG ? Role::kAdd : Role::kOther;
    default:
      return Role::kOther;
  }
}

}  // namespace

void describe_x86(const cs_insn& insn, Decoded& decoded) {
  const cs_detail& detail = *insn.detail;
  decoded.flow = x86_flow(insn);
  decoded.cost = x86_cost(insn, decoded.flow);
  decoded.role = x86_role(insn, decoded);
  for (const cs_x86_op& operand : std::span(detail.x86.operands).first(detail.x86.op_count)) {
    if (operand.type == X86_OP_MEM) {
      decoded.memory = memory_of(operand.mem, insn.address + insn.size);
      decoded.has_memory = true;
    } else if (operand.type == X86_OP_IMM && decoded.flow != ControlFlow::kNext) {
      decoded.target = static_cast<uint64_t>(operand.imm);
      decoded.has_target = decoded.flow != ControlFlow::kReturn && decoded.flow != ControlFlow::kStop;
    } else if (operand.type == X86_OP_REG && decoded.flow == ControlFlow::kIndirectJump) {
      decoded.source = general_register(operand.reg);
    }
    const uint8_t written = operand.type == X86_OP_REG && (operand.access & CS_AC_WRITE) != 0
                                ? general_register(operand.reg)
                                : kNoRegister;
    if (is_general(written)) {
      decoded.written |= 1U << written;
    }
  }
  for (const uint16_t reg : std::span(detail.regs_write).first(detail.regs_write_count)) {
    if (const uint8_t written = general_register(reg); is_general(written)) {
      decoded.written |= 1U << written;
    }
  }
  if (decoded.flow == ControlFlow::kCall) {
    constexpr uint32_t kCallClobbered = 0x0fc7;  // rax, rcx, rdx, rsi, rdi, r8 to r11 (System V ABI)
    decoded.written |= kCallClobbered;
  }
}

}  // namespace plimsoll::fdo
