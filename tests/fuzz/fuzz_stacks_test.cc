// Damaged captures of real stacks, unwound with the tables of real libraries: those of this process. Whatever the stack holds,
// the unwinder reads nothing outside the copy (AddressSanitizer watches), ends, and says why.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/fuzz/mutate.h"
#include "tests/fuzz/own_stacks.h"
#include "tests/fuzz/seed.h"

namespace plimsoll {
namespace {

constexpr int kMutations = 10'000;

TEST(FuzzStacks, SoundCapturesAreWhole) {
  fuzz::OwnStacks own;
  const auto captures = fuzz::sound_captures();
  ASSERT_EQ(captures.size(), 7);
  for (size_t i = 0; i < captures.size(); ++i) {
    const bool is_cut = captures[i].stack.size() == fuzz::kStackBytes;
    const UserStack& stack = own.unwind(captures[i].registers, as_bytes(captures[i].stack), is_cut);
    EXPECT_EQ(stack.problem,
              i == fuzz::kBeyondTheCopy ? wire::TRUNCATED_STACK_COPY : wire::STACK_PROBLEM_UNSPECIFIED)
        << i;
    EXPECT_GT(stack.addresses.size(), 5) << i;
  }
}

TEST(FuzzStacks, DamagedCapturesEndWithAReason) {
  fuzz::OwnStacks own;
  const auto captures = fuzz::sound_captures();
  std::mt19937_64 random(fuzz::seed(1));
  size_t frames = 0;
  for (int i = 0; i < kMutations; ++i) {
    const fuzz::Capture& original = captures[random() % captures.size()];
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
    fuzz::expect_possible(whole, registers[fuzz::kRip], own.mappings());
    frames += whole.addresses.size();
  }
  EXPECT_GT(frames, kMutations * 4) << "damage does not end most stacks at once";
}

// What is behind the part that was copied cannot change what lies before it.
TEST(FuzzStacks, AShorterCopyGivesTheSameInnermostFrames) {
  fuzz::OwnStacks own;
  const auto captures = fuzz::sound_captures();
  std::mt19937_64 random(fuzz::seed(2));
  for (int i = 0; i < kMutations; ++i) {
    const fuzz::Capture& original = captures[random() % captures.size()];
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

}  // namespace
}  // namespace plimsoll
