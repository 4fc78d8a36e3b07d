// Damaged segments of version 1: the conversion reads their rows, or says which file is damaged. Half of the damage comes with
// checksums that match, so that it gets to what decodes the columns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "base/checksum.h"
#include "store/segments/segment_version_1.h"
#include "tests/conformance/random_requests.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/segment_fixture.h"
#include "tests/unit/store/segment_version_1_writer.h"

namespace plimsoll::fuzz {
namespace {

using store::Row;
using ::testing::HasSubstr;

constexpr int kMutations = 10'000;
constexpr size_t kHeaderBytes = 32;
constexpr size_t kEntryBytes = 40;
constexpr size_t kColumns = 6;

const testing::Cardinalities kIds{{3, 8, 5, 4, 1, 90}};

uint64_t number_at(std::string_view bytes, size_t at) {
  uint64_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

void put(uint64_t number, size_t at, std::string& bytes) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

// Gives every column that lies within the file the checksum of its bytes, and the directory its own.
void repair_checksums(std::string& bytes) {
  const size_t directory_bytes = kColumns * kEntryBytes;  // of one chunk
  if (bytes.size() < kHeaderBytes + directory_bytes) {
    return;
  }
  for (size_t column = 0; column < kColumns; ++column) {
    const size_t entry = kHeaderBytes + column * kEntryBytes;
    const uint64_t offset = number_at(bytes, entry + 16);
    const uint64_t size_bytes = number_at(bytes, entry + 24);
    if (offset <= bytes.size() && size_bytes <= bytes.size() - offset) {
      put(checksum64(as_bytes(std::string_view(bytes).substr(offset, size_bytes))), entry + 32, bytes);
    }
  }
  const std::string checked = bytes.substr(0, 24) + bytes.substr(kHeaderBytes, directory_bytes);
  put(checksum64(as_bytes(checked)), 24, bytes);
}

// One number of a column's entry: its smallest or largest value, its place or its size.
void set_odd_number(std::string& bytes, std::mt19937_64& random) {
  const size_t at = kHeaderBytes + random() % kColumns * kEntryBytes + random() % 4 * sizeof(uint64_t);
  const uint64_t before = number_at(bytes, at);
  const std::array<uint64_t, 8> numbers{
      0,          UINT64_MAX, uint64_t{1} << 63, uint64_t{UINT32_MAX} + random() % 2,
      before + 1, before - 1, before + 8,        uint64_t{1} << random() % 64};
  put(numbers[random() % numbers.size()], at, bytes);
}

class FuzzSegmentVersion1 : public ::testing::Test {
 protected:
  // The rows; nothing where the file was refused, and named.
  std::optional<std::vector<Row>> rows_in(std::string_view bytes, uint64_t expected_rows) {
    store::write_bytes(path_, bytes);
    auto rows = store::read_segment_of_version_1(path_, expected_rows);
    if (!rows) {
      EXPECT_THAT(rows.error().message, HasSubstr(path_));
      EXPECT_TRUE(rows.error().code == ErrorCode::kCorrupt || rows.error().code == ErrorCode::kUnsupported)
          << rows.error().text();
      return std::nullopt;
    }
    EXPECT_EQ(rows->size(), expected_rows);
    return *rows;
  }

  testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "000000000001.rows";
};

TEST_F(FuzzSegmentVersion1, DamageIsFoundAndNamedOrChangesNothing) {
  std::mt19937_64 random(seed(1));
  testing::Random ids(seed(1));
  int found = 0;
  for (int i = 0; i < kMutations / 2; ++i) {
    SCOPED_TRACE(fmt::format("mutation {}", i));
    const std::vector<Row> rows = random_rows(ids, kIds, 1 + random() % 60);
    const std::string bytes = store::encode_segment_of_version_1(rows);
    ASSERT_EQ(rows_in(bytes, rows.size()), rows);
    const auto after = rows_in(mutated(bytes, random), rows.size());
    ASSERT_FALSE(HasFailure());
    if (after.has_value()) {
      ASSERT_EQ(*after, rows);  // the damage undid itself, or lies where nothing is read
    }
    found += after.has_value() ? 0 : 1;
  }
  EXPECT_GT(found, kMutations / 2 * 9 / 10);
}

TEST_F(FuzzSegmentVersion1, WhatMatchesItsChecksumsIsReadOrRefused) {
  std::mt19937_64 random(seed(2));
  testing::Random ids(seed(2));
  int read = 0;
  int refused = 0;
  for (int i = 0; i < kMutations / 2; ++i) {
    SCOPED_TRACE(fmt::format("mutation {}", i));
    const std::vector<Row> rows = random_rows(ids, kIds, 1 + random() % 60);
    std::string bytes = store::encode_segment_of_version_1(rows);
    if (random() % 2 == 0) {
      set_odd_number(bytes, random);
    } else {
      bytes = bytes.substr(0, kHeaderBytes) + mutated(bytes.substr(kHeaderBytes), random);
    }
    repair_checksums(bytes);
    const auto after = rows_in(bytes, rows.size());
    ASSERT_FALSE(HasFailure());
    (after.has_value() ? read : refused) += 1;
  }
  EXPECT_GT(read, kMutations / 20) << "damage must get past the checksums";
  EXPECT_GT(refused, kMutations / 20);
}

TEST_F(FuzzSegmentVersion1, NoNumberOfRowsIsBelieved) {
  std::mt19937_64 random(seed(3));
  testing::Random ids(seed(3));
  const std::vector<Row> rows = random_rows(ids, kIds, 60);
  for (const uint64_t claimed : {uint64_t{0}, uint64_t{1}, uint64_t{65'537}, uint64_t{1} << 40, UINT64_MAX}) {
    std::string bytes = store::encode_segment_of_version_1(rows);
    put(claimed, 16, bytes);
    repair_checksums(bytes);
    EXPECT_FALSE(rows_in(bytes, claimed).has_value()) << claimed;
    EXPECT_FALSE(rows_in(bytes, rows.size()).has_value()) << claimed;
  }
}

}  // namespace
}  // namespace plimsoll::fuzz
