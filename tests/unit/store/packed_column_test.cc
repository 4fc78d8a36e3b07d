#include "store/segments/packed_column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace plimsoll::store {
namespace {

using ::testing::HasSubstr;
using Values = std::vector<uint64_t>;

std::string packed(const Values& values) {
  std::string bytes;
  pack_column(values, bytes);
  return bytes;
}

PackedColumn read(const std::string& bytes, size_t count) {
  ByteReader reader(as_bytes(bytes));
  const auto column = PackedColumn::read(reader, count);
  EXPECT_TRUE(column) << column.error().text();
  EXPECT_EQ(reader.remaining(), 0);
  return column.value_or(PackedColumn());
}

// Whatever the type that it is unpacked to.
void expect_round_trip(const Values& values) {
  const std::string bytes = packed(values);
  EXPECT_EQ(bytes.size() % 8, 0);
  const PackedColumn column = read(bytes, values.size());
  Values wide;
  column.unpack(wide);
  wide.resize(values.size());
  EXPECT_EQ(wide, values);
  std::vector<uint32_t> narrow;
  column.unpack(narrow);
  std::vector<double> real;
  column.unpack(real);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(narrow[i], static_cast<uint32_t>(values[i])) << i;
    if (values[i] < uint64_t{1} << 53U) {
      ASSERT_EQ(real[i], static_cast<double>(values[i])) << i;
    } else {
      ASSERT_DOUBLE_EQ(real[i], static_cast<double>(values[i])) << i;
    }
  }
}

TEST(PackedColumnTest, ValuesOfEveryWidthComeBack) {
  std::mt19937_64 random(1);
  for (unsigned bits = 0; bits <= 64; ++bits) {
    for (const size_t count : {1, 7, 255, 256, 257, 1000}) {
      Values values;
      for (size_t i = 0; i < count; ++i) {
        values.push_back(bits == 0 ? 5 : random() >> (64 - bits));
      }
      SCOPED_TRACE(fmt::format("{} values of {} bits", count, bits));
      expect_round_trip(values);
    }
  }
}

TEST(PackedColumnTest, AFewLargeValuesAmongManySmallOnesComeBack) {
  std::mt19937_64 random(2);
  for (unsigned large_bits = 1; large_bits <= 64; ++large_bits) {
    Values values;
    for (int i = 0; i < 3000; ++i) {
      values.push_back(random() % 40 == 0 ? random() >> (64 - large_bits) : random() % 16);
    }
    SCOPED_TRACE(large_bits);
    expect_round_trip(values);
  }
}

TEST(PackedColumnTest, LargeValuesAfterASmallOneComeBack) {
  // Every value of the second mini-block needs more than 32 bits above the smallest.
  Values values(1, 3);
  values.resize(700, UINT64_MAX);
  expect_round_trip(values);
}

TEST(PackedColumnTest, AscendingAndWanderingValuesComeBack) {
  std::mt19937_64 random(3);
  Values ascending, wandering;
  uint32_t up = 0;
  uint32_t here = 1'000'000;
  for (int i = 0; i < 5000; ++i) {
    ascending.push_back(up += static_cast<uint32_t>(random() % 9));
    wandering.push_back(here += static_cast<uint32_t>(random() % 9) - 4);
  }
  ascending.push_back(0);  // starts again
  ascending.push_back(UINT32_MAX);
  expect_round_trip(ascending);
  expect_round_trip(wandering);
}

TEST(PackedColumnTest, TakesFewBytesWhereThereIsLittleToSay) {
  const size_t count = 65'536;
  EXPECT_LT(packed(Values(count, 123'456'789)).size(), 600);  // one value: two bytes a mini-block
  Values runs, ascending;
  for (size_t i = 0; i < count; ++i) {
    runs.push_back(i / 5000);
    ascending.push_back(1'000'000 + 3 * i);
  }
  EXPECT_LT(packed(runs).size(), 700);
  EXPECT_LT(packed(ascending).size(), 600);
  Values skewed(count, 1);
  for (size_t i = 0; i < count; i += 100) {
    skewed[i] = 1'000'000;
  }
  EXPECT_LT(packed(skewed).size(), count / 100 * 8 + 600);  // exceptions pay for themselves
}

TEST(PackedColumnTest, NoValuesAreAColumn) {
  expect_round_trip({});
}

TEST(PackedColumnTest, AnotherNumberOfValuesIsDamage) {
  const std::string bytes = packed(Values(300, 7));
  ByteReader reader(as_bytes(bytes));
  const auto column = PackedColumn::read(reader, 299);
  ASSERT_FALSE(column);
  EXPECT_EQ(column.error().code, ErrorCode::kCorrupt);
}

TEST(PackedColumnTest, AnEarlyEndIsDamage) {
  Values values;
  for (uint64_t i = 0; i < 1000; ++i) {
    values.push_back(i * i % 1009);
  }
  const std::string bytes = packed(values);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    ByteReader reader(as_bytes(cut));
    ASSERT_FALSE(PackedColumn::read(reader, values.size())) << size;
  }
}

// Bytes that nobody checked: any numbers may come out, and nothing outside of the bytes is read (under ASan).
TEST(PackedColumnTest, DamagedBytesStayWithinTheirBounds) {
  std::mt19937_64 random(4);
  Values values;
  for (int i = 0; i < 600; ++i) {
    values.push_back(random() % 1000);
  }
  const std::string sound = packed(values);
  for (int round = 0; round < 5000; ++round) {
    std::string bytes = sound;
    for (uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1U << random() % 8);
    }
    ByteReader reader(as_bytes(bytes));
    const auto column = PackedColumn::read(reader, values.size());
    if (column) {
      Values wide;
      column->unpack(wide);
      std::vector<double> real;
      column->unpack(real);
      std::vector<uint32_t> narrow;
      column->unpack(narrow);
      EXPECT_GE(narrow.size(), values.size());
    } else {
      EXPECT_THAT(column.error().message, ::testing::AnyOf(HasSubstr("column"), HasSubstr("mini-block")));
    }
  }
}

}  // namespace
}  // namespace plimsoll::store
