#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include "proto/profile_codec.h"
#include "tests/framed.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"
#include "tests/sample_profile.h"

namespace plimsoll::wire {
namespace {

constexpr int kMutations = 10'000;

// Decodes to a profile that validates, or to an error that says something. True for a profile.
bool decodes_cleanly(std::string_view encoded) {
  const auto decoded =
      decode(as_bytes(encoded), {.max_encoded_bytes = 1 << 20, .max_decoded_bytes = 1 << 20});
  if (decoded) {
    EXPECT_TRUE(validate(*decoded).has_value());
    return true;
  }
  EXPECT_FALSE(decoded.error().message.empty());
  return false;
}

TEST(FuzzProfile, DamagedBytesAreRefused) {
  const std::string encoded = encode(sample_profile());
  std::mt19937_64 random(fuzz::seed(1));
  for (int i = 0; i < kMutations; ++i) {
    const std::string damaged = fuzz::mutated(encoded, random);
    EXPECT_EQ(decodes_cleanly(damaged), damaged == encoded) << "mutation " << i;
  }
}

// With a right checksum, so that the damage reaches zstd.
TEST(FuzzProfile, DamagedFramesAreRefusedOrValid) {
  const std::string body = compressed(sample_profile().SerializeAsString());
  std::mt19937_64 random(fuzz::seed(2));
  for (int i = 0; i < kMutations; ++i) {
    decodes_cleanly(framed(fuzz::mutated(body, random)));
  }
}

// With a right checksum and a right frame, so that it reaches the parser and the rules.
TEST(FuzzProfile, DamagedMessagesAreRefusedOrValid) {
  const std::string message = sample_profile().SerializeAsString();
  std::mt19937_64 random(fuzz::seed(3));
  int profiles = 0;
  for (int i = 0; i < kMutations; ++i) {
    profiles += decodes_cleanly(framed(compressed(fuzz::mutated(message, random)))) ? 1 : 0;
  }
  // Both ways were taken: much damage breaks a rule, and some only changes a name or a number.
  EXPECT_GT(profiles, kMutations / 100);
  EXPECT_LT(profiles, kMutations / 2);
}

}  // namespace
}  // namespace plimsoll::wire
