// Random stacks, salted with addresses in real code, unwound with the tables of real libraries: those of this process. Whatever
// the stack holds, the unwinder reads nothing outside the copy (AddressSanitizer watches), ends, and says why.
//   PLIMSOLL_TEST_RANDOM_STACKS=N         how many (100,000 unless said)
//   PLIMSOLL_TEST_MAX_US_PER_STACK=T     fails where one takes longer; not with a sanitizer
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <random>

#include "tests/fuzz/own_stacks.h"
#include "tests/fuzz/seed.h"

namespace plimsoll {
namespace {

uint64_t number_from_environment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
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
        return stack_start + below(fuzz::kStackBytes + 64);
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

std::vector<uint64_t> return_addresses_in(fuzz::OwnStacks& own) {
  std::vector<uint64_t> addresses;
  for (const fuzz::Capture& capture : fuzz::sound_captures()) {
    for (const uint64_t address : own.unwind(capture.registers, as_bytes(capture.stack), true).addresses) {
      addresses.push_back(address + 1);
    }
  }
  std::ranges::sort(addresses);
  const auto again = std::ranges::unique(addresses);
  addresses.erase(again.begin(), again.end());
  return addresses;
}

TEST(FuzzRandomStacks, EndWithAReason) {
  const uint64_t stacks = number_from_environment("PLIMSOLL_TEST_RANDOM_STACKS", 100'000);
  const uint64_t max_us = number_from_environment("PLIMSOLL_TEST_MAX_US_PER_STACK", 0);
  fuzz::OwnStacks own;
  const auto return_addresses = return_addresses_in(own);
  RandomWords words(own.mappings(), return_addresses, fuzz::seed(3));
  // Changed a little for each: a stack's end is the block's end, so that a read behind it is one outside the allocation.
  std::vector<uint64_t> block(fuzz::kStackBytes / sizeof(uint64_t));
  uint64_t frames = 0;
  size_t deepest = 0;
  Times times;
  for (uint64_t i = 0; i < stacks; ++i) {
    const uint64_t start = 0x7ffc'0000'0000 + words.below(1U << 20U) * 8;
    std::array<uint64_t, perf::kUserRegisters> registers{};
    std::ranges::generate(registers, [&] { return words.register_value(start); });
    registers[fuzz::kRsp] = start;
    registers[fuzz::kRip] = words.code();
    const size_t size = words.below(8) == 0 ? block.size() : words.below(256);
    const std::span<uint64_t> stack = std::span(block).last(size);
    for (size_t at = 0; at < std::min<size_t>(size, 256); ++at) {
      stack[at] = words.word(start);
    }
    // Some begin in the middle of a word.
    const Bytes bytes = std::as_bytes(stack).subspan(size == 0 || words.below(16) != 0 ? 0 : words.below(8));
    const UserStack* unwound = nullptr;
    times.measure([&] { unwound = &own.unwind(registers, bytes, size == block.size()); });
    fuzz::expect_possible(*unwound, registers[fuzz::kRip], own.mappings());
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
  if (max_us != 0) {
    EXPECT_LE(static_cast<double>(times.longest_ns) / 1e3, static_cast<double>(max_us));
  }
}

}  // namespace
}  // namespace plimsoll
