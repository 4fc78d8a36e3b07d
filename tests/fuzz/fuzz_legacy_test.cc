#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "tests/fuzz/import_check.h"
#include "tests/fuzz/legacy_texts.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"

namespace plimsoll::fuzz {
namespace {

constexpr int kMutations = 10'000;

// Mutates the texts in turn. Gives how many of them were profiles still.
int mutate_all(const std::vector<std::string>& texts, uint64_t seed_of_test) {
  std::mt19937_64 random(seed(seed_of_test));
  int profiles = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string damaged = mutated(texts[static_cast<size_t>(i) % texts.size()], random);
    profiles += imports_cleanly(damaged) ? 1 : 0;
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "mutation " << i << ": " << damaged;
      break;
    }
  }
  return profiles;
}

TEST(FuzzLegacy, DamagedHeapTextIsRefusedOrValid) {
  std::vector<std::string> texts = corpus_files({"cppbench.heap", "cppbench.growth", "gobench.heap"});
  std::ranges::copy(heap_texts(), std::back_inserter(texts));
  EXPECT_GT(mutate_all(texts, 10), kMutations / 100);
}

TEST(FuzzLegacy, DamagedContentionTextIsRefusedOrValid) {
  std::vector<std::string> texts = corpus_files({"cppbench.contention"});
  std::ranges::copy(contention_texts(), std::back_inserter(texts));
  EXPECT_GT(mutate_all(texts, 11), kMutations / 100);
}

TEST(FuzzLegacy, DamagedTextOfJavaIsRefusedOrValid) {
  EXPECT_GT(mutate_all(java_texts(), 13), kMutations / 100);
}

TEST(FuzzLegacy, DamagedFilesOfOtherAllocatorsAndProfilersAreRefusedOrValid) {
  EXPECT_GT(mutate_all(other_texts(), 12), kMutations / 100);
}

}  // namespace
}  // namespace plimsoll::fuzz
