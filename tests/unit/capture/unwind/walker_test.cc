// The walker on this process's own stack, against what the C++ runtime's unwinder says of the same moment.
#include "capture/unwind/walker.h"

#include <execinfo.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <ucontext.h>

#include <array>
#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "base/file.h"
#include "elf/loaded_image.h"
#include "tests/unit/capture/unwind/call_frames.h"

namespace plimsoll::unwind {
namespace {

// The code of this process, by /proc/self/maps.
class OwnCode : public CodeMap {
 public:
  OwnCode() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      add(line);
    }
  }

  CodePlace find(uint64_t address) override {
    for (const Part& part : parts_) {
      if (address >= part.start && address < part.end) {
        const uint64_t offset = address - part.start + part.file_offset;
        return {.is_mapped = true,
                .table = part.binary->table.get(),
                .elf_address = elf::address_of(part.binary->segments, offset).value_or(0)};
      }
    }
    return {};
  }

 private:
  struct Binary {
    std::vector<elf::Segment> segments;
    std::unique_ptr<UnwindTable> table;
  };
  struct Part {
    uint64_t start, end, file_offset;
    const Binary* binary;
  };

  void add(const std::string& line) {
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t offset = 0;
    std::array<char, 5> permissions{};
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %*s %n", &start, &end, permissions.data(), &offset,
                    &path_at) < 4 ||
        permissions[2] != 'x') {
      return;
    }
    const std::string path = line.substr(static_cast<size_t>(path_at));
    auto image = path == "[vdso]"
                     ? elf::LoadedImage::from_file(elf::read_at_of(*elf::own_vdso_bytes()))
                     : elf::LoadedImage::from_file(elf::read_at_of(
                           std::make_shared<UniqueFd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path));
    if (!image) {
      return;
    }
    Binary& binary = binaries_[path];
    binary.segments = image->segments();
    const auto sections = image->call_frames();
    if (sections && !sections->empty() && binary.table == nullptr) {
      auto table = UnwindTable::compile(*sections);
      binary.table = table ? std::make_unique<UnwindTable>(std::move(*table)) : nullptr;
    }
    parts_.push_back({start, end, offset, &binary});
  }

  std::map<std::string, Binary> binaries_;
  std::vector<Part> parts_;
};

struct Observed {
  std::vector<uint64_t> walked;
  StackEnd end = StackEnd::kTooDeep;
  std::vector<uint64_t> by_runtime;  // return addresses
};

// Everything that must outlive the observing function's frame.
Observed observed;
size_t copied_bytes;

void walk_own_stack(const ucontext_t& context) {
  const auto& values = context.uc_mcontext.gregs;
  const std::array<int, kRegisters> order{REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                          REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                          REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  Registers registers;
  for (size_t i = 0; i < kRegisters; ++i) {
    registers.set(i, static_cast<uint64_t>(values[order[i]]));
  }
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t size_bytes = 0;
  ::pthread_getattr_np(::pthread_self(), &attributes);
  ::pthread_attr_getstack(&attributes, &low, &size_bytes);
  ::pthread_attr_destroy(&attributes);
  const uint64_t top = reinterpret_cast<uint64_t>(low) + size_bytes;
  const uint64_t start = registers[kRsp];
  StackCopy copy{.start = start, .bytes = {reinterpret_cast<const std::byte*>(start), top - start}};
  if (copied_bytes != 0 && copied_bytes < copy.bytes.size()) {
    copy.bytes = copy.bytes.first(copied_bytes);
    copy.is_cut = true;
  }
  static OwnCode code;
  Walker walker;
  WalkedStack walked;
  walker.walk(registers, copy, {}, code, walked);
  observed.walked = walked.addresses;
  observed.end = walked.end;
}

__attribute__((noinline)) void observe() {
  std::array<void*, 512> frames{};
  const int count = ::backtrace(frames.data(), frames.size());
  observed.by_runtime.clear();
  for (int i = 0; i < count; ++i) {
    observed.by_runtime.push_back(reinterpret_cast<uint64_t>(frames[static_cast<size_t>(i)]));
  }
  ucontext_t context;
  ::getcontext(&context);
  walk_own_stack(context);
  // A sanitizer puts frames of its own between backtrace() and this function: the lists begin at this one's caller.
  auto& frames_by_runtime = observed.by_runtime;
  const uint64_t return_address = observed.walked.size() > 1 ? observed.walked[1] + 1 : 0;
  const auto caller = std::ranges::find(frames_by_runtime, return_address);
  if (caller - frames_by_runtime.begin() > 1) {
    frames_by_runtime.erase(frames_by_runtime.begin(), caller - 1);
  }
}

// From the caller of observe() on both must agree: return addresses, less the byte that puts them into their calls.
void expect_agreement() {
  ASSERT_GT(observed.by_runtime.size(), 3);
  ASSERT_GE(observed.walked.size(), observed.by_runtime.size());
  EXPECT_EQ(observed.end, StackEnd::kOutermost);
  for (size_t i = 1; i < observed.by_runtime.size(); ++i) {
    const uint64_t difference = observed.by_runtime[i] - observed.walked[i];
    EXPECT_LE(difference, 1) << "frame " << i;  // 0: it was interrupted by a signal
  }
  EXPECT_EQ(observed.walked.size(), observed.by_runtime.size());
}

class WalkerOnOwnStack : public ::testing::Test {
 protected:
  void SetUp() override {
    copied_bytes = 0;
    std::array<void*, 1> warm_up{};
    ::backtrace(warm_up.data(), 1);  // loads libgcc's unwinder before a signal handler needs it
  }
};

TEST_F(WalkerOnOwnStack, ReachesTheOutermostFrame) {
  observe();
  expect_agreement();
}

__attribute__((noinline)) int recurse(int depth, const std::function<void()>& at_the_end) {
  if (depth == 0) {
    at_the_end();
    return 0;
  }
  const int below = recurse(depth - 1, at_the_end);
  __asm__ volatile("" ::: "memory");  // no tail call
  return below + 1;
}

TEST_F(WalkerOnOwnStack, DeepRecursionAndVirtualCalls) {
  EXPECT_EQ(recurse(300, observe), 300);
  expect_agreement();
  EXPECT_GT(observed.walked.size(), 300);
}

TEST_F(WalkerOnOwnStack, FramesOfVariableSize) {
  // The CFA is told by rbp here.
  const auto with_alloca = [](size_t size_bytes) {
    auto* buffer = static_cast<volatile char*>(__builtin_alloca(size_bytes));
    buffer[0] = 1;
    observe();
    buffer[size_bytes - 1] = 2;
  };
  with_alloca(12'345);
  expect_agreement();
}

TEST_F(WalkerOnOwnStack, ThreadsEndWhereTheyBegan) {
  std::thread([] { observe(); }).join();
  expect_agreement();
}

TEST_F(WalkerOnOwnStack, CallbacksThroughTheCLibrary) {
  std::array<int, 8> numbers{3, 1, 2, 5, 4, 8, 7, 6};
  std::qsort(numbers.data(), numbers.size(), sizeof(int), [](const void* a, const void* b) {
    observe();
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  });
  expect_agreement();
}

TEST_F(WalkerOnOwnStack, SignalFramesAreCrossed) {
  struct sigaction action{};
  action.sa_handler = [](int) { observe(); };
  ::sigaction(SIGUSR1, &action, nullptr);
  recurse(3, [] { ::raise(SIGUSR1); });
  expect_agreement();
  // The interrupted instruction follows no call, and neither does the trampoline that the handler returns to: one byte
  // before it another function ends.
  size_t exact = 0;
  for (size_t i = 1; i < observed.by_runtime.size(); ++i) {
    exact += observed.by_runtime[i] == observed.walked[i] ? 1 : 0;
  }
  EXPECT_EQ(exact, 2);
}

TEST_F(WalkerOnOwnStack, AStackThatGoesOnBehindTheCopyIsCut) {
  copied_bytes = 10'000;  // about 100 frames above that of observe()
  recurse(300, observe);
  EXPECT_EQ(observed.end, StackEnd::kCutCopy);
  EXPECT_GT(observed.walked.size(), 5);
  for (size_t i = 1; i < observed.walked.size(); ++i) {
    EXPECT_LE(observed.by_runtime[i] - observed.walked[i], 1) << "what there is must be right";
  }
}

// One table for all code.
class TableCode : public CodeMap {
 public:
  explicit TableCode(const UnwindTable& table) : table_(table) {}
  CodePlace find(uint64_t address) override {
    return {.is_mapped = address < 0x9000, .table = &table_, .elf_address = address};
  }

 private:
  const UnwindTable& table_;
};

// A function whose epilogue, at 0x1010, has popped rbp again, though its rule still names the slot; what called it, at
// 0x1020, is found by rbp.
TEST(WalkerByCfi, ARegisterThatAnEpilogueHasPoppedHasItsCallersValue) {
  constexpr std::string_view kProgram("\x50\x86\x02\x50\x0c\x06\x10", 7);
  const auto table = UnwindTable::compile({eh_frame(eh_frame_bytes(kProgram))});
  TableCode code(*table);
  Registers registers;
  registers.set(kRip, 0x1018);
  registers.set(kRsp, 0x7000);
  registers.set(kRbp, 0x7020);
  const std::array<uint64_t, 6> words{0x1021, 1, 2, 3, 4, 0};
  Walker walker;
  WalkedStack result;
  walker.walk(registers, {.start = 0x7000, .bytes = std::as_bytes(std::span(words))}, {}, code, result);
  EXPECT_THAT(result.addresses, ::testing::ElementsAre(0x1018, 0x1020));
  EXPECT_EQ(result.end, StackEnd::kOutermost);
}

// A coroutine's root, as makecontext() has it: a return address that nothing called from.
TEST(WalkerByCfi, AFunctionThatIsReturnedToAtItsBeginIsNotTheOneBeforeIt) {
  const auto table = UnwindTable::compile({eh_frame(eh_frame_bytes(""))});
  ASSERT_TRUE(table.has_value()) << table.error().text();
  TableCode code(*table);
  Registers registers;
  registers.set(kRip, 0x1018);
  registers.set(kRsp, 0x7000);
  for (const uint64_t above :
       {uint64_t{0}, uint64_t{0xa000}}) {  // it was not called: no return address lies there
    const std::array<uint64_t, 2> words{0x1000, above};
    WalkedStack result;
    Walker().walk(registers, {.start = 0x7000, .bytes = std::as_bytes(std::span(words))}, {}, code, result);
    EXPECT_THAT(result.addresses, ::testing::ElementsAre(0x1018, 0x1000));
    EXPECT_EQ(result.end, StackEnd::kOutermost);
  }
}

// A signal frame as libc describes it: the interrupted stack pointer and instruction lie in the words above it.
constexpr std::string_view kSignalFrame(
    "\x0f\x03\x77\x10\x06"  // CFA = word at rsp + 16
    "\x10\x10\x02\x77\x18",
    10);  // return address in the word at rsp + 24

TEST(WalkerByCfi, ASignalFrameLeadsToAnotherStackOrUpwards) {
  const auto table = UnwindTable::compile({eh_frame(eh_frame_bytes(kSignalFrame, "zRS"))});
  ASSERT_TRUE(table.has_value()) << table.error().text();
  TableCode code(*table);
  const auto walk = [&](uint64_t interrupted_rsp) {
    Registers registers;
    registers.set(kRip, 0x1018);
    registers.set(kRsp, 0x7000);
    const std::array<uint64_t, 8> words{0, 0, interrupted_rsp, 0x1020, 0, 0, 0, 0};
    WalkedStack result;
    Walker().walk(registers, {.start = 0x7000, .bytes = std::as_bytes(std::span(words))}, {}, code, result);
    return result;
  };
  EXPECT_EQ(walk(0x7000).addresses.size(), 1) << "the same frame again";
  EXPECT_EQ(walk(0x7000).end, StackEnd::kDamagedUnwindInformation);
  EXPECT_EQ(walk(0x7018).addresses.size(), 2) << "upwards; and there its words are 0";
  EXPECT_EQ(walk(0x6000).addresses.size(), 2);
  EXPECT_EQ(walk(0x6000).end, StackEnd::kOutsideStack) << "another stack, which the copy does not hold";
}

// Stacks made by hand: words from address 0x7000 on, code at 0x1000 (Go's: keeps frame pointers, the last of which
// is 0), at 0x1800 (a JIT's) and at 0x2000 (says nothing).
class MadeCode : public CodeMap {
 public:
  CodePlace find(uint64_t address) override {
    return {.is_mapped = address >= 0x1000 && address < 0x3000,
            .keeps_frame_pointers = address < 0x2000,
            .chain_ends_with_zero = address < 0x1800};
  }
};

struct MadeStack {
  uint64_t rip = 0x1100;
  uint64_t rbp = 0x7000;
  std::vector<uint64_t> words = {};
  std::vector<uint64_t> chain = {};
  bool is_cut = false;
  bool chain_is_cut = false;
};

WalkedStack walked(const MadeStack& made) {
  Registers registers;
  registers.set(kRip, made.rip);
  registers.set(kRsp, 0x7000);
  registers.set(kRbp, made.rbp);
  MadeCode code;
  Walker walker;
  WalkedStack result;
  walker.walk(registers,
              {.start = 0x7000, .bytes = std::as_bytes(std::span(made.words)), .is_cut = made.is_cut},
              {.addresses = made.chain, .is_cut = made.chain_is_cut}, code, result);
  return result;
}

using ::testing::ElementsAre;

TEST(WalkerByFramePointers, FollowsTheChainToItsEnd) {
  const auto stack = walked({.words = {0x7010, 0x1201, 0, 0x1301, 0, 0}});
  EXPECT_THAT(stack.addresses, ElementsAre(0x1100, 0x1200, 0x1300));
  EXPECT_EQ(stack.end, StackEnd::kOutermost);
}

TEST(WalkerByFramePointers, EndsWithAReason) {
  EXPECT_EQ(walked({.rip = 0x5000}).end, StackEnd::kNotMapped);
  EXPECT_THAT(walked({.rip = 0x5000}).addresses, ElementsAre());
  EXPECT_EQ(walked({.words = {0, 0x9999}}).end, StackEnd::kNotMapped);
  EXPECT_EQ(walked({.rip = 0x2100, .words = {0, 0x1201}}).end, StackEnd::kNoUnwindInformation)
      << "code that does not keep frame pointers is not guessed at";
  EXPECT_EQ(walked({.rbp = 0x8000, .words = {0, 0}}).end, StackEnd::kOutsideStack);
  EXPECT_EQ(walked({.rbp = 0x8000, .words = {0, 0}, .is_cut = true}).end, StackEnd::kCutCopy);
  EXPECT_EQ(walked({.rbp = 0x6000, .words = {0, 0}, .is_cut = true}).end, StackEnd::kOutsideStack);
  EXPECT_EQ(walked({.rbp = UINT64_MAX, .words = {0, 0}}).end, StackEnd::kOutsideStack);
  EXPECT_EQ(walked({.rbp = 0x7008, .words = {0, 0}}).end, StackEnd::kOutsideStack) << "half a link";
  EXPECT_EQ(walked({.rbp = 0x7008, .words = {0, 0}, .is_cut = true}).end, StackEnd::kCutCopy);
  EXPECT_EQ(walked({.rbp = 0}).end, StackEnd::kOutermost);
  EXPECT_EQ(walked({.rip = 0x1900, .rbp = 0}).end, StackEnd::kNoUnwindInformation)
      << "a JIT may keep anything in rbp";
}

TEST(WalkerByFramePointers, GoesOnWithTheKernelsChainOnAnotherStack) {
  // The second frame's link leads to 0x6000, below the copy: a goroutine's stack.
  const MadeStack made{.words = {0x6000, 0x1201}, .chain = {0x1100, 0x1201, 0x1301, 0x1401}};
  const auto stack = walked(made);
  EXPECT_THAT(stack.addresses, ElementsAre(0x1100, 0x1200, 0x1300, 0x1400));
  EXPECT_EQ(stack.end, StackEnd::kOutermost);

  MadeStack cut = made;
  cut.chain_is_cut = true;
  EXPECT_EQ(walked(cut).end, StackEnd::kTooDeep) << "the kernel recorded no more";

  MadeStack other = made;
  other.chain[1] = 0x1999;
  EXPECT_EQ(walked(other).end, StackEnd::kOutsideStack) << "a chain of other frames says nothing of these";
  other = made;
  other.chain[2] = 0x9999;
  EXPECT_EQ(walked(other).end, StackEnd::kNotMapped);
  other.chain[2] = 0x2001;
  EXPECT_EQ(walked(other).end, StackEnd::kOutsideStack) << "code that does not keep frame pointers ends it";
}

}  // namespace
}  // namespace plimsoll::unwind
