// Damaged captures of real stacks, and random ones, unwound with the tables of real libraries: those of this process. Whatever
// the stack holds, the unwinder reads nothing outside the copy (AddressSanitizer watches), ends, and says why.
//   PLIMSOLL_RANDOM_STACKS=N         how many random stacks (100,000 unless said)
//   PLIMSOLL_MOST_US_PER_STACK=T     fails where one takes longer; not with a sanitizer
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <thread>

#include "daemon/profile/user_stacks.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"

namespace plimsoll {
namespace {

constexpr int kMutations = 10'000;
constexpr size_t kStackBytes = 16384;
constexpr size_t kRsp = 7;  // in SampleRecord::user_registers
constexpr size_t kRip = 8;

uint64_t number_from_environment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// As a sample has them.
struct Capture {
  std::array<uint64_t, perf::kUserRegisters> registers{};
  std::string stack;
};

uint64_t stack_end() {
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t size_bytes = 0;
  ::pthread_getattr_np(::pthread_self(), &attributes);
  ::pthread_attr_getstack(&attributes, &low, &size_bytes);
  ::pthread_attr_destroy(&attributes);
  return reinterpret_cast<uint64_t>(low) + size_bytes;
}

// Of a stack of this thread, whose frames must not have returned.
Capture captured(const ucontext_t& context) {
  const auto& general = context.uc_mcontext.gregs;
  Capture capture;
  const std::array<int, perf::kUserRegisters> order{REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
                                                    REG_RBP, REG_RSP, REG_RIP, REG_R8,  REG_R9,  REG_R10,
                                                    REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  for (size_t i = 0; i < order.size(); ++i) {
    capture.registers[i] = static_cast<uint64_t>(general[order[i]]);
  }
  const uint64_t start = capture.registers[kRsp];
  capture.stack.resize(std::min<size_t>(kStackBytes, stack_end() - start));
  // As the kernel reads it: a sanitizer would not let this thread read all of its own frames.
  const iovec to{capture.stack.data(), capture.stack.size()};
  const iovec from{reinterpret_cast<void*>(start), capture.stack.size()};
  EXPECT_EQ(::process_vm_readv(::getpid(), &to, 1, &from, 1, 0), static_cast<ssize_t>(capture.stack.size()));
  return capture;
}

std::vector<Capture>* captures_of_handler = nullptr;
std::vector<Capture>* captures_of_callback = nullptr;

// The frames of the caller, as they are at the call.
[[gnu::noinline]] void capture_here(std::vector<Capture>& captures) {
  ucontext_t context;
  ::getcontext(&context);
  captures.push_back(captured(context));
}

[[gnu::noinline]] uint64_t capture_in_depth(size_t depth, std::vector<Capture>& captures) {
  volatile char bytes[64];
  bytes[depth % sizeof bytes] = 1;
  if (depth == 0) {
    capture_here(captures);
    return captures.size();
  }
  const uint64_t below = capture_in_depth(depth - 1, captures);
  return below * 3 + static_cast<uint64_t>(bytes[depth % sizeof bytes]);
}

int compare_and_capture(const void* left, const void* right) {
  if (captures_of_callback->empty()) {
    capture_in_depth(3, *captures_of_callback);
  }
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}

void capture_in_callback(std::vector<Capture>& captures) {
  std::vector<Capture> one;
  captures_of_callback = &one;
  std::array<int, 8> numbers{5, 2, 8, 1, 9, 3, 7, 4};
  std::qsort(numbers.data(), numbers.size(), sizeof(int), compare_and_capture);
  captures.insert(captures.end(), one.begin(), one.end());
}

void on_signal(int /*signal*/) {
  capture_in_depth(2, *captures_of_handler);
}

void capture_in_handler(std::vector<Capture>& captures) {
  captures_of_handler = &captures;
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = on_signal;
  ::sigaction(SIGUSR1, &action, &before);
  ::raise(SIGUSR1);
  ::sigaction(SIGUSR1, &before, nullptr);
}

std::vector<Capture> sound_captures() {
  std::vector<Capture> captures;
  capture_in_depth(0, captures);
  capture_in_depth(20, captures);
  capture_in_depth(600, captures);  // beyond the copy
  capture_in_callback(captures);
  capture_in_handler(captures);
  std::thread([&] { capture_in_depth(4, captures); }).join();
  try {
    throw std::runtime_error("caught");
  } catch (const std::runtime_error&) {
    capture_in_depth(1, captures);
  }
  return captures;
}

// Unwinds with what this process has mapped: its own code, the system's libraries, the vdso, and a page as a JIT compiler
// makes them.
class OwnStacks {
 public:
  OwnStacks()
      : jit_page_(::mmap(nullptr, kPageBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        process_(processes_.find(static_cast<uint32_t>(::getpid()))) {
    EXPECT_NE(jit_page_, MAP_FAILED);
  }
  OwnStacks(const OwnStacks&) = delete;
  OwnStacks& operator=(const OwnStacks&) = delete;
  ~OwnStacks() { ::munmap(jit_page_, kPageBytes); }

  const identity::Mappings& mappings() const { return *process_.mappings; }

  const UserStack& unwind(const std::array<uint64_t, perf::kUserRegisters>& registers, Bytes stack,
                          bool is_cut) {
    perf::SampleRecord sample;
    sample.pid = process_.identity->pid;
    sample.user_abi = PERF_SAMPLE_REGS_ABI_64;
    sample.user_registers = registers;
    sample.user_stack = stack;
    sample.user_stack_is_cut = is_cut;
    stacks_.unwind(sample, {}, process_, stack_);
    return stack_;
  }

 private:
  static constexpr size_t kPageBytes = 4096;

  void* const jit_page_;  // mapped before the process is looked at
  identity::ProcFs proc_fs_;
  identity::LiveImages images_{proc_fs_};
  identity::BinaryTable binaries_{images_};
  identity::ProcessTable processes_{proc_fs_, binaries_};
  identity::Process& process_;
  UserStacks stacks_{images_};
  UserStack stack_;
};

// As far as it goes, whatever the stack holds.
void expect_possible(const UserStack& stack, uint64_t rip, const identity::Mappings& mappings) {
  ASSERT_LE(stack.addresses.size(), unwind::Walker::kMaxFrames);
  for (const uint64_t address : stack.addresses) {
    ASSERT_NE(mappings.find(address), nullptr);
  }
  if (stack.addresses.empty()) {
    ASSERT_EQ(stack.problem, wire::NOT_IN_A_MAPPING);
    ASSERT_EQ(mappings.find(rip), nullptr);
  } else {
    ASSERT_EQ(stack.addresses.front(), rip);
  }
}

TEST(FuzzStacks, SoundCapturesAreWhole) {
  OwnStacks own;
  const auto captures = sound_captures();
  ASSERT_EQ(captures.size(), 7);
  for (size_t i = 0; i < captures.size(); ++i) {
    const bool is_cut = captures[i].stack.size() == kStackBytes;
    const UserStack& stack = own.unwind(captures[i].registers, as_bytes(captures[i].stack), is_cut);
    EXPECT_EQ(stack.problem, i == 2 ? wire::TRUNCATED_STACK_COPY : wire::STACK_PROBLEM_UNSPECIFIED) << i;
    EXPECT_GT(stack.addresses.size(), 5) << i;
  }
}

TEST(FuzzStacks, DamagedCapturesEndWithAReason) {
  OwnStacks own;
  const auto captures = sound_captures();
  std::mt19937_64 random(fuzz::seed(1));
  size_t frames = 0;
  for (int i = 0; i < kMutations; ++i) {
    const Capture& original = captures[random() % captures.size()];
    // Mostly the innermost frames, which all others depend on.
    const size_t damaged_bytes = std::min<size_t>(original.stack.size(), size_t{64} << random() % 9);
    const std::string head = fuzz::mutated(original.stack.substr(0, damaged_bytes), random);
    const std::string stack = head + (random() % 4 == 0 ? "" : original.stack.substr(damaged_bytes));
    auto registers = original.registers;
    if (random() % 3 == 0) {
      registers[random() % registers.size()] += random() % 2 == 0 ? random() % 256 - 128 : random();
    }
    // In a block of its own size, so that a read behind its end is one outside the allocation.
    const std::vector<std::byte> exact(as_bytes(stack).begin(), as_bytes(stack).end());
    const UserStack whole = own.unwind(registers, exact, random() % 2 == 0);
    expect_possible(whole, registers[kRip], own.mappings());
    frames += whole.addresses.size();
  }
  EXPECT_GT(frames, kMutations * 4) << "damage does not end most stacks at once";
}

// What is behind the part that was copied cannot change what lies before it.
TEST(FuzzStacks, AShorterCopyGivesTheSameInnermostFrames) {
  OwnStacks own;
  const auto captures = sound_captures();
  std::mt19937_64 random(fuzz::seed(2));
  for (int i = 0; i < kMutations; ++i) {
    const Capture& original = captures[random() % captures.size()];
    const UserStack whole = own.unwind(original.registers, as_bytes(original.stack), true);
    const size_t bytes = random() % (original.stack.size() + 1);
    const std::vector<std::byte> part(as_bytes(original.stack).begin(),
                                      as_bytes(original.stack).begin() + static_cast<ptrdiff_t>(bytes));
    const UserStack& shorter = own.unwind(original.registers, part, true);
    ASSERT_LE(shorter.addresses.size(), whole.addresses.size());
    ASSERT_TRUE(
        std::ranges::equal(shorter.addresses, std::span(whole.addresses).first(shorter.addresses.size())));
    if (shorter.addresses.size() < whole.addresses.size()) {
      ASSERT_NE(shorter.problem, wire::STACK_PROBLEM_UNSPECIFIED) << "a part taken for the whole";
    }
  }
}

// Words of which many are addresses in real code, or lead into the stack.
class RandomWords {
 public:
  RandomWords(const identity::Mappings& mappings, const std::vector<uint64_t>& return_addresses,
              uint64_t seed)
      : return_addresses_(return_addresses), random_(seed) {
    for (const auto& [start, mapping] : mappings.all()) {
      code_.emplace_back(start, mapping.end - start);
    }
  }

  uint64_t below(uint64_t end) { return random_() % end; }

  uint64_t code() {
    if (below(4) != 0) {
      return return_addresses_[below(return_addresses_.size())];
    }
    const auto& [start, size_bytes] = code_[below(code_.size())];
    return start + below(size_bytes);
  }

  uint64_t word(uint64_t stack_start) {
    switch (below(16)) {
      case 0:
        return random_();
      case 1:
        return below(4096);
      case 2:
        return UINT64_MAX - below(4096);
      case 3:
        return stack_start + below(kStackBytes + 64);
      case 4:
      case 5:
      case 6:
        return stack_start + below(128) * 8;
      default:
        return code();
    }
  }

  // Registers lead into the stack more often than its words do.
  uint64_t register_value(uint64_t stack_start) {
    return below(4) == 0 ? word(stack_start) : stack_start + below(64) * 8;
  }

 private:
  const std::vector<uint64_t>& return_addresses_;
  std::mt19937_64 random_;
  std::vector<std::pair<uint64_t, uint64_t>> code_;
};

int64_t thread_cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

struct Times {
  int64_t sum_ns = 0;
  int64_t longest_ns = 0;

  // The least of several is what it costs: tables are there by then, and no interrupt hits them all.
  template <typename Unwind>
  void measure(Unwind&& unwind) {
    const auto once = [&] {
      const int64_t start_ns = thread_cpu_ns();
      unwind();
      return thread_cpu_ns() - start_ns;
    };
    const int64_t first_ns = once();
    sum_ns += first_ns;
    if (first_ns > longest_ns) {
      longest_ns = std::max(longest_ns, std::min({first_ns, once(), once(), once()}));
    }
  }
};

std::vector<uint64_t> return_addresses_in(OwnStacks& own) {
  std::vector<uint64_t> addresses;
  for (const Capture& capture : sound_captures()) {
    for (const uint64_t address : own.unwind(capture.registers, as_bytes(capture.stack), true).addresses) {
      addresses.push_back(address + 1);
    }
  }
  std::ranges::sort(addresses);
  const auto again = std::ranges::unique(addresses);
  addresses.erase(again.begin(), again.end());
  return addresses;
}

TEST(FuzzStacks, RandomOnesEndWithAReason) {
  const uint64_t stacks = number_from_environment("PLIMSOLL_RANDOM_STACKS", 100'000);
  const uint64_t most_us = number_from_environment("PLIMSOLL_MOST_US_PER_STACK", 0);
  OwnStacks own;
  const auto return_addresses = return_addresses_in(own);
  RandomWords words(own.mappings(), return_addresses, fuzz::seed(3));
  // Changed a little for each: a stack's end is the block's end, so that a read behind it is one outside the allocation.
  std::vector<uint64_t> block(kStackBytes / sizeof(uint64_t));
  uint64_t frames = 0;
  size_t deepest = 0;
  Times times;
  for (uint64_t i = 0; i < stacks; ++i) {
    const uint64_t start = 0x7ffc'0000'0000 + words.below(1U << 20U) * 8;
    std::array<uint64_t, perf::kUserRegisters> registers{};
    std::ranges::generate(registers, [&] { return words.register_value(start); });
    registers[kRsp] = start;
    registers[kRip] = words.code();
    const size_t size = words.below(8) == 0 ? block.size() : words.below(256);
    const std::span<uint64_t> stack = std::span(block).last(size);
    for (size_t at = 0; at < std::min<size_t>(size, 256); ++at) {
      stack[at] = words.word(start);
    }
    // Some begin in the middle of a word.
    const Bytes bytes = std::as_bytes(stack).subspan(size == 0 || words.below(16) != 0 ? 0 : words.below(8));
    const UserStack* unwound = nullptr;
    times.measure([&] { unwound = &own.unwind(registers, bytes, size == block.size()); });
    expect_possible(*unwound, registers[kRip], own.mappings());
    if (HasFatalFailure()) {
      return;
    }
    frames += unwound->addresses.size();
    deepest = std::max(deepest, unwound->addresses.size());
  }
  std::printf("%lu random stacks, %.2f frames each, at most %zu; %.2f us each, at most %.2f\n", stacks,
              static_cast<double>(frames) / static_cast<double>(stacks), deepest,
              static_cast<double>(times.sum_ns) / 1e3 / static_cast<double>(stacks),
              static_cast<double>(times.longest_ns) / 1e3);
  EXPECT_GT(frames, stacks * 3 / 2) << "no walk came further than its first frame";
  if (most_us != 0) {
    EXPECT_LE(static_cast<double>(times.longest_ns) / 1e3, static_cast<double>(most_us));
  }
}

}  // namespace
}  // namespace plimsoll
