#include <gtest/gtest.h>

#include "tests/fuzz/import_check.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"
#include "tests/unit/formats/pprof_message.h"

namespace plimsoll::fuzz {
namespace {

constexpr int kMutations = 10'000;

TEST(FuzzPprof, DamagedMessagesAreRefusedOrValid) {
  const std::string message = formats::pprof_heap().SerializeAsString();
  std::mt19937_64 random(seed(20));
  int profiles = 0;
  for (int i = 0; i < kMutations; ++i) {
    profiles += imports_cleanly(mutated(message, random)) ? 1 : 0;
  }
  // Both ways were taken: much damage breaks a reference, and some only changes a name or a number.
  EXPECT_GT(profiles, kMutations / 100);
  EXPECT_LT(profiles, kMutations / 2);
}

// What reaches zlib.
TEST(FuzzPprof, DamagedGzipIsRefusedOrValid) {
  const std::string compressed = formats::gzipped(formats::pprof_heap().SerializeAsString());
  std::mt19937_64 random(seed(21));
  for (int i = 0; i < kMutations; ++i) {
    imports_cleanly(mutated(compressed, random));
  }
}

// With a right checksum, so that it reaches the reader.
TEST(FuzzPprof, DamagedContentInGzipIsRefusedOrValid) {
  const std::string message = formats::pprof_heap().SerializeAsString();
  std::mt19937_64 random(seed(22));
  for (int i = 0; i < kMutations; ++i) {
    imports_cleanly(formats::gzipped(mutated(message, random)));
  }
}

}  // namespace
}  // namespace plimsoll::fuzz
