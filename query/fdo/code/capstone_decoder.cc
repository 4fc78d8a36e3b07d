#include <capstone.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "query/fdo/code/decoder.h"

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

bool starts_with(const cs_insn& insn, std::string_view what) {
  return std::string_view(insn.mnemonic).starts_with(what);
}
bool contains(const cs_insn& insn, std::string_view what) {
  return std::string_view(insn.mnemonic).find(what) != std::string_view::npos;
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

}  // namespace

struct Decoder::State {
  Machine machine = Machine::kX64;
  csh handle = 0;
  cs_insn* insn = nullptr;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (insn != nullptr) {
      cs_free(insn, 1);
    }
    if (handle != 0) {
      cs_close(&handle);
    }
  }
};

Decoder::Decoder(std::unique_ptr<State> state) : state_(std::move(state)) {}
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;
Decoder::~Decoder() = default;

Result<Decoder> Decoder::create(Machine machine) {
  auto state = std::make_unique<State>();
  state->machine = machine;
  const bool is_x86 = machine == Machine::kX64;
  const cs_err error =
      cs_open(is_x86 ? CS_ARCH_X86 : CS_ARCH_ARM64, is_x86 ? CS_MODE_64 : CS_MODE_ARM, &state->handle);
  if (error != CS_ERR_OK) {
    return fail(ErrorCode::kUnsupported, "disassembling: Capstone: {}", cs_strerror(error));
  }
  cs_option(state->handle, CS_OPT_DETAIL, CS_OPT_ON);
  state->insn = cs_malloc(state->handle);
  if (state->insn == nullptr) {
    return fail(ErrorCode::kExhausted, "disassembling: no memory");
  }
  return Decoder(std::move(state));
}

std::optional<Decoded> Decoder::decode(Bytes code, uint64_t address) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
  size_t size = code.size();
  uint64_t at = address;
  if (!cs_disasm_iter(state_->handle, &bytes, &size, &at, state_->insn) || state_->insn->size == 0) {
    return std::nullopt;
  }
  const cs_insn& insn = *state_->insn;
  Decoded decoded;
  decoded.address = address;
  decoded.bytes = static_cast<uint8_t>(insn.size);
  if (state_->machine == Machine::kX64) {
    describe_x86(insn, decoded);
  } else {
    describe_arm(insn, decoded);
  }
  return decoded;
}

}  // namespace plimsoll::fdo
