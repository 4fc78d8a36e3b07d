#include "query/fdo/code/decoder.h"

#include <utility>

#include "query/fdo/code/instructions.h"

namespace plimsoll::fdo {

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
  state->insn->size = 0;
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

std::string Decoder::text() const {
  const cs_insn& insn = *state_->insn;
  if (insn.size == 0) {
    return {};
  }
  std::string text = insn.mnemonic;
  if (insn.op_str[0] != '\0') {
    text.append(" ").append(insn.op_str);
  }
  return text;
}

}  // namespace plimsoll::fdo
