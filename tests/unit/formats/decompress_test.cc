#include "formats/decompress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/formats/compressed.h"

namespace plimsoll::formats {
namespace {

using ::testing::HasSubstr;

struct Format {
  const char* name;
  std::string (*compress)(std::string_view content);
};

class Decompress : public ::testing::TestWithParam<Format> {
 protected:
  static std::string compressed(std::string_view content) { return GetParam().compress(content); }
};

TEST_P(Decompress, GivesBackWhatWasCompressed) {
  for (const std::string& content :
       {std::string("some text"), std::string(), "begin" + std::string(700'000, 'x')}) {
    const std::string bytes = compressed(content);
    EXPECT_STREQ(compression_name(compression_of(as_bytes(bytes).first(kCompressionMagicBytes))),
                 GetParam().name);
    EXPECT_EQ(decompress(as_bytes(bytes), content.size()).value_or("failed"), content);
  }
}

TEST_P(Decompress, StreamsThatFollowEachOtherAreOneContent) {
  const std::string bytes = compressed("one and ") + compressed("the other");
  EXPECT_EQ(decompress(as_bytes(bytes), 100).value_or("failed"), "one and the other");
}

TEST_P(Decompress, TakesItsInputInPiecesOfAnySize) {
  const std::string content = "first" + std::string(300'000, 'x') + "last";
  const std::string bytes = compressed(content) + compressed("more");
  for (const size_t piece_bytes : {size_t{1}, size_t{7}, size_t{512}}) {
    size_t at = 0;
    DecompressionStream stream(
        compression_of(as_bytes(bytes)),
        [&]() -> Result<Bytes> {
          const Bytes piece = as_bytes(std::string_view(bytes).substr(at, piece_bytes));
          at += piece.size();
          return piece;
        },
        content.size() + 4);
    std::string whole;
    Result<Bytes> piece;
    while ((piece = stream.next()) && !piece->empty()) {
      whole += as_text(*piece);
    }
    EXPECT_TRUE(piece.has_value());
    EXPECT_EQ(whole, content + "more");
  }
}

TEST_P(Decompress, ContentPastTheBoundIsRefusedAndTheBoundNamed) {
  const std::string bytes = compressed(std::string(200'000, 'x'));
  const auto refused = decompress(as_bytes(bytes), 199'999);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(refused.error().text(), HasSubstr("199999 bytes permitted"));
}

TEST_P(Decompress, AFewBytesCannotClaimAGigabyte) {
  const std::string bytes = compressed(std::string(10'000'000, 'x'));
  ASSERT_LT(bytes.size(), 20'000);
  const auto refused = decompress(as_bytes(bytes), UINT64_MAX - 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
}

TEST_P(Decompress, DamagedBytesAreRefused) {
  const std::string bytes = compressed("some text that is long enough for every format");
  const auto code_of = [](const std::string& damaged) {
    const auto content = decompress(as_bytes(damaged), 100);
    return content ? "taken: " + *content : content.error().code == ErrorCode::kCorrupt ? "corrupt" : "other";
  };
  EXPECT_EQ(code_of(bytes + "more"), "corrupt");
  for (size_t size = kCompressionMagicBytes; size < bytes.size(); ++size) {
    EXPECT_EQ(code_of(bytes.substr(0, size)), "corrupt") << "cut to " << size;
  }
  // zstd's own tool writes a checksum; the library's simplest call does not.
  if (GetParam().name != std::string_view("zstd")) {
    std::string flipped = bytes;
    flipped[bytes.size() / 2] = static_cast<char>(flipped[bytes.size() / 2] ^ 1);
    EXPECT_EQ(code_of(flipped), "corrupt");
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Decompress,
                         ::testing::Values(Format{"gzip", testing::gzipped},
                                           Format{"xz", testing::xz_compressed},
                                           Format{"zstd", testing::zstd_compressed},
                                           Format{"bzip2", testing::bzip2_compressed}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(CompressionOf, IsNoneForOtherContent) {
  for (const std::string_view content :
       {"", "x", "BZh", "BZhang's heap profile", "PERFILE2", "heap profile: 1: 2"}) {
    EXPECT_EQ(compression_of(as_bytes(content)), Compression::kNone) << content;
  }
}

TEST(DecompressionStream, FailsAgainAfterAnError) {
  DecompressionStream stream(Compression::kGzip, pull_from(as_bytes("no gzip at all")), 100);
  const auto first = stream.next();
  ASSERT_FALSE(first);
  const auto second = stream.next();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().text(), first.error().text());
}

}  // namespace
}  // namespace plimsoll::formats
