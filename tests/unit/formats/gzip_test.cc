#include "formats/gzip.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/gunzip.h"

namespace plimsoll::formats {
namespace {

std::string words(size_t bytes, std::mt19937_64& random) {
  std::string text;
  while (text.size() < bytes) {
    text += fmt::format("frame {} of {}\n", random() % 50, random());
  }
  return text;
}

TEST(Gzip, EqualContentGivesEqualBytesHoweverItIsCut) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    const std::string content = words(random() % 500'000, random);
    const auto whole = gzip(as_bytes(content));
    ASSERT_TRUE(whole) << whole.error().text();
    GzipWriter writer;
    for (size_t at = 0; at < content.size();) {
      const size_t size = std::min<size_t>(random() % 70'000, content.size() - at);
      ASSERT_TRUE(writer.append(as_bytes(content).subspan(at, size)));
      at += size;
    }
    EXPECT_EQ(writer.content_bytes(), content.size());
    const auto cut = writer.finish();
    ASSERT_TRUE(cut) << cut.error().text();
    EXPECT_EQ(*cut, *whole) << "seed " << seed;
    EXPECT_EQ(plimsoll::testing::gunzip(*cut), content) << "seed " << seed;
  }
}

TEST(Gzip, NothingIsAMemberToo) {
  const auto nothing = GzipWriter().finish();
  ASSERT_TRUE(nothing) << nothing.error().text();
  EXPECT_EQ(plimsoll::testing::gunzip(*nothing), "");
}

}  // namespace
}  // namespace plimsoll::formats
