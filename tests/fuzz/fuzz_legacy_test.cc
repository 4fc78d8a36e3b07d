#include <gtest/gtest.h>

#include "tests/fuzz/import_check.h"
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
  const std::string rows =
      "     2:     2048 [     5:     5120] @ 0x401137 0x401171\n"
      "     1:  1048576 [     1:  1048576] @ 0x401137 0x7f0000000010\n\n"
      "MAPPED_LIBRARIES:\n"
      "build=/srv/release\n"
      "00400000-00402000 r-xp 00001000 fd:01 1234    $build/server\n"
      "7f0000000000-7f0000001000: /lib/libc.so.6 (@2000) 3f4e1c7a\n";
  std::vector<std::string> texts = corpus_files({"cppbench.heap", "cppbench.growth", "gobench.heap"});
  for (const char* dialect : {"heap_v2/524288", "heap/1048576", "heapprofile", "growthz"}) {
    texts.push_back("heap profile:      3:     3072 [     6:  1053696] @ " + std::string(dialect) + "\n" +
                    rows);
  }
  EXPECT_GT(mutate_all(texts, 10), kMutations / 100);
}

TEST(FuzzLegacy, DamagedContentionTextIsRefusedOrValid) {
  std::vector<std::string> texts = corpus_files({"cppbench.contention"});
  texts.emplace_back(
      "--- contentionz 1 ---\n"
      "cycles/second = 3201000000\nsampling period = 100\nms since reset = 16502830\ndiscarded samples = 2\n"
      "  19490304       27 @ 0x401137 0x401171\n"
      "       768        1 @ 0x401137\n"
      "--- Memory map: ---\n"
      "  00400000-00fcb000: cppbench_server_main\n");
  texts.emplace_back("--- mutex:\ncycles/second=1000000000\nsampling period=1\n80 2 @ 0x11\n");
  EXPECT_GT(mutate_all(texts, 11), kMutations / 100);
}

}  // namespace
}  // namespace plimsoll::fuzz
