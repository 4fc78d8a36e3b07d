#include "tests/e2e/stepped_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "capture/identity/proc_fs.h"
#include "tests/e2e/program.h"

namespace plimsoll::testing {
namespace {

constexpr size_t kLongestInstruction = 15;

// Intel SDM, volume 2: prefixes, then E8 (relative) or FF /2 (indirect).
bool is_call(const std::array<uint8_t, 16>& code) {
  const auto is_prefix = [](uint8_t byte) {
    constexpr std::array<uint8_t, 10> kLegacy{0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3};
    return std::ranges::find(kLegacy, byte) != kLegacy.end() || (byte & 0xf0U) == 0x40;
  };
  size_t at = 0;
  while (at + 2 < code.size() && is_prefix(code[at])) {
    ++at;
  }
  return code[at] == 0xe8 || (code[at] == 0xff && (code[at + 1] >> 3U & 7U) == 2);
}

bool is_system_call(const std::array<uint8_t, 16>& code) {
  return code[0] == 0x0f && code[1] == 0x05;
}

}  // namespace

void TrueCallStack::called(uint64_t slot, uint64_t return_address) {
  parts_.back().frames.push_back({slot, return_address - 1});
}

void TrueCallStack::interrupted(uint64_t at, uint64_t slot, uint64_t return_address, uint64_t stack_low,
                                uint64_t stack_high) {
  Part part;
  part.stack_low = stack_low;
  part.stack_high = stack_high;
  // The interrupted frame ends with the part, whatever happens to the stack pointer before.
  part.frames.push_back({stack_high, at});
  part.frames.push_back({slot, return_address});  // which follows no call
  parts_.push_back(std::move(part));
}

void TrueCallStack::returned_from_handler() {
  if (parts_.size() > 1) {
    parts_.pop_back();
  }
}

void TrueCallStack::stack_pointer_is(uint64_t rsp) {
  while (parts_.size() > 1 && (rsp < parts_.back().stack_low || rsp >= parts_.back().stack_high)) {
    parts_.pop_back();  // left by siglongjmp
  }
  auto& frames = parts_.back().frames;
  while (!frames.empty() && frames.back().slot < rsp) {
    frames.pop_back();
  }
}

TrueCallStack::Frame* TrueCallStack::newest() {
  auto& frames = parts_.back().frames;
  return frames.empty() ? nullptr : &frames.back();
}

std::vector<TrueCallStack::Frame> TrueCallStack::frames() const {
  std::vector<Frame> all;
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
    all.insert(all.end(), part->frames.rbegin(), part->frames.rend());
  }
  return all;
}

void TrueCallStack::addresses(uint64_t rip, std::vector<uint64_t>& addresses) const {
  addresses.assign(1, rip);
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
    for (auto frame = part->frames.rbegin(); frame != part->frames.rend(); ++frame) {
      addresses.push_back(frame->address);
    }
  }
}

SteppedProgram::SteppedProgram(const std::vector<std::string>& argv) {
  std::vector<std::string> arguments = argv;
  if (!arguments[0].contains('/')) {
    arguments[0] = program(arguments[0]);
  }
  std::vector<char*> pointers;
  for (std::string& argument : arguments) {
    pointers.push_back(argument.data());
  }
  pointers.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    if (const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC); null >= 0) {
      ::dup2(null, STDOUT_FILENO);
    }
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  int signal_number = 0;
  wait_for_stop(signal_number);
  if (pid_ > 0) {
    ::ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_EXITKILL);
    memory_ = UniqueFd(::open(fmt::format("/proc/{}/mem", pid_).c_str(), O_RDONLY | O_CLOEXEC));
  }
}

SteppedProgram::~SteppedProgram() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

bool SteppedProgram::wait_for_stop(int& signal_number) {
  int status = 0;
  if (pid_ <= 0 || ::waitpid(pid_, &status, 0) != pid_ || !WIFSTOPPED(status)) {
    exit_status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    pid_ = -1;
    return false;
  }
  signal_number = WSTOPSIG(status);
  ::ptrace(PTRACE_GETREGS, pid_, nullptr, &registers_);
  return true;
}

size_t SteppedProgram::read(uint64_t address, void* bytes, size_t size_bytes) const {
  const ssize_t got = ::pread(memory_.get(), bytes, size_bytes, static_cast<off_t>(address));
  return got < 0 ? 0 : static_cast<size_t>(got);
}

uint64_t SteppedProgram::read_word(uint64_t address) const {
  uint64_t word = 0;
  read(address, &word, sizeof word);
  return word;
}

SteppedProgram::Range SteppedProgram::mapping_of(uint64_t address) const {
  const auto maps = identity::ProcFs().maps(static_cast<uint32_t>(pid_));
  for (const identity::MapsEntry& entry : maps.value_or(std::vector<identity::MapsEntry>())) {
    if (address >= entry.start && address < entry.end) {
      return {entry.start, entry.end};
    }
  }
  return {};
}

Bytes SteppedProgram::stack(size_t most) {
  const uint64_t rsp = registers_.rsp;
  if (rsp < stack_.low || rsp >= stack_.high) {
    stack_ = mapping_of(rsp);
  }
  copy_.resize(std::min<size_t>(most, stack_.high - rsp));
  return Bytes(copy_).first(read(rsp, copy_.data(), copy_.size()));
}

void SteppedProgram::remember_saved(Frame& frame) const {
  auto& words = frame.saved.emplace();
  read(frame.slot - sizeof words + sizeof(uint64_t), words.data(), sizeof words);
}

bool SteppedProgram::has_rewritten(const Frame& frame) const {
  Frame now = frame;
  remember_saved(now);
  return frame.saved && frame.saved != now.saved;
}

void SteppedProgram::follow(const user_regs_struct& before, int delivered_signal) {
  changed_mappings_ = false;
  const bool entered_handler = delivered_signal != 0 &&
                               registers_.rdi == static_cast<uint64_t>(delivered_signal) &&
                               registers_.rdx == registers_.rsp + sizeof(uint64_t);
  if (entered_handler) {
    const Range range = mapping_of(registers_.rsp);
    const bool is_same_stack = before.rsp >= range.low && before.rsp < range.high;
    // On the same stack the handler's part ends where the interrupted frames begin.
    calls_.interrupted(before.rip, registers_.rsp, read_word(registers_.rsp), is_same_stack ? 0 : range.low,
                       is_same_stack ? before.rsp : range.high);
    return;
  }
  if (is_system_call(code_)) {
    if (before.rax == SYS_rt_sigreturn) {
      calls_.returned_from_handler();
    }
    changed_mappings_ = before.rax == SYS_mmap || before.rax == SYS_mprotect || before.rax == SYS_munmap;
    return;
  }
  if (registers_.rsp == before.rsp - sizeof(uint64_t) && is_call(code_)) {
    const uint64_t return_address = read_word(registers_.rsp);
    if (return_address > before.rip && return_address <= before.rip + kLongestInstruction) {
      if (Frame* const caller = calls_.newest(); caller != nullptr && !caller->saved) {
        remember_saved(*caller);
      }
      calls_.called(registers_.rsp, return_address);
      return;
    }
  }
  calls_.stack_pointer_is(registers_.rsp);
}

bool SteppedProgram::step() {
  const user_regs_struct before = registers_;
  code_ = {};
  read(before.rip, code_.data(), code_.size());
  const int delivered = std::exchange(pending_signal_, 0);
  ::ptrace(PTRACE_SINGLESTEP, pid_, nullptr, delivered);
  int signal_number = 0;
  if (!wait_for_stop(signal_number)) {
    return false;
  }
  pending_signal_ = signal_number == SIGTRAP ? 0 : signal_number;
  follow(before, delivered);
  return true;
}

bool SteppedProgram::run_to_breakpoint() {
  int signal_number = 0;
  ::ptrace(PTRACE_CONT, pid_, nullptr, 0);
  return wait_for_stop(signal_number) && signal_number == SIGTRAP;
}

}  // namespace plimsoll::testing
