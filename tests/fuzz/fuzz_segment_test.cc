// Damaged segment files: whatever is in them, reading ends with rows or with an error that names the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "store/aggregation/local_rows.h"
#include "store/segments/segment.h"
#include "tests/conformance/random_requests.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::fuzz {
namespace {

using store::LocalRows;
using store::Row;
using ::testing::HasSubstr;

constexpr int kMutations = 10'000;

const testing::Cardinalities kIds{{3, 8, 5, 4, 3, 90}};

class FuzzSegment : public ::testing::Test {
 protected:
  // The rows; nothing where the damage was found, and named.
  std::optional<std::vector<Row>> rows_in(std::string_view bytes) {
    store::write_bytes(path_, bytes);
    const auto rows = LocalRows::open({path_});
    if (!rows) {
      expect_named(rows.error());
      return std::nullopt;
    }
    const auto answer = rows->aggregate(testing::request_for_all(kIds));
    if (!answer) {
      expect_named(answer.error());
      // What is known to be damaged is left out from then on.
      EXPECT_THAT(*store::read_rows(*rows), ::testing::IsEmpty());
      return std::nullopt;
    }
    const auto read = store::read_rows(*rows);
    if (!read) {
      expect_named(read.error());
      return std::nullopt;
    }
    return *read;
  }

  void expect_named(const Error& error) const {
    EXPECT_THAT(error.message, HasSubstr(path_));
    EXPECT_TRUE(error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kUnsupported) << error.text();
  }

  testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "000000000001.rows";
};

TEST_F(FuzzSegment, DamageIsFoundAndNamedOrChangesNothing) {
  std::mt19937_64 random(seed(1));
  testing::Random ids(seed(1));
  int found = 0;
  for (int i = 0; i < kMutations; ++i) {
    SCOPED_TRACE(fmt::format("mutation {}", i));
    const std::string bytes = store::encode_segment(random_rows(ids, kIds, 1 + random() % 60));
    const auto before = rows_in(bytes);
    ASSERT_TRUE(before.has_value());
    const auto after = rows_in(mutated(bytes, random));
    ASSERT_FALSE(HasFailure());
    if (after.has_value()) {
      ASSERT_EQ(*after, *before);  // the damage undid itself, or lies behind the end
    }
    found += after.has_value() ? 0 : 1;
  }
  EXPECT_GT(found, kMutations * 95 / 100);
}

}  // namespace
}  // namespace plimsoll::fuzz
