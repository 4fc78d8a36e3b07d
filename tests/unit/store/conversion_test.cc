#include "store/directory/conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "store/catalogue/catalogue.h"
#include "store/catalogue/segment_table.h"
#include "store/directory/data_directory.h"
#include "store/segments/segment_version_1.h"
#include "tests/conformance/plain_row.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/format_6.h"
#include "tests/unit/store/old_segment_writer.h"
#include "tests/unit/store/segment_fixture.h"
#include "tests/unit/store/segment_version_1_writer.h"

namespace plimsoll::store {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<Row> kFewRows =
    rows_of({{.event = 1, .workload = 2, .origin = 3, .thread = 4, .stack = 5, .hits = 6},
             {.event = 1, .workload = 2, .origin = 3, .thread = 4, .stack = 7, .hits = 1}});

std::vector<Row> random_rows(size_t count) {
  std::mt19937_64 random(7);
  std::vector<Row> rows;
  for (uint32_t i = 0; i < count; ++i) {
    const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
    // Hits of every width, up to 64 bits.
    rows.push_back(row_of(
        {1 + below(3), 1 + below(500), 1 + below(60'000), 1 + below(40), i, 1 | random() >> below(64)}));
  }
  std::ranges::sort(rows);
  return rows;
}

std::string encode_segment_of_version_2(const std::vector<Row>& rows) {
  return OldSegmentWriter(2).encode(rows);
}

// A data directory whose segments are of older versions.
class ConversionTest : public ::testing::Test {
 protected:
  ConversionTest() {
    const auto created = DataDirectory::open_for_writing(path_);
    EXPECT_TRUE(created) << created.error().text();
    plimsoll::testing::make_format_6(path_);
    write_bytes(path_ + "/FORMAT", "4\n");
  }

  void add_segment(const std::string& file, const std::vector<Row>& rows, const std::string& bytes) {
    auto catalogue = *Catalogue::open(catalogue_, sqlite::OpenMode::kReadWrite);
    const auto inserted = insert_segment(
        catalogue.database(),
        {.file = file, .rows = rows.size(), .bytes = bytes.size(), .from_ns = 10, .to_ns = 20});
    ASSERT_TRUE(inserted) << inserted.error().text();
    write_bytes(folder_of_segments_ + "/" + file, bytes);
  }
  void add_segment(const std::string& file, const std::vector<Row>& rows) {
    add_segment(file, rows, encode_segment_of_version_1(rows));
  }

  // Of the first block where the directory has been converted.
  std::string folder() const {
    return std::filesystem::exists(catalogue_) ? path_ : path_ + "/blocks/000001";
  }

  std::vector<std::string> visible_files() {
    auto catalogue = *Catalogue::open(folder() + "/catalogue.db", sqlite::OpenMode::kRead);
    std::vector<std::string> files;
    const auto segments = *visible_segments(catalogue.database());
    for (const SegmentEntry& segment : segments) {
      files.push_back(segment.file);
      EXPECT_EQ(segment.from_ns, 10);
      EXPECT_EQ(segment.to_ns, 20);
      EXPECT_EQ(segment.bytes, std::filesystem::file_size(folder() + "/segments/" + segment.file));
    }
    return files;
  }

  std::string format() { return *read_file(path_ + "/FORMAT", 10); }
  std::vector<Row> rows_in(const std::string& file) { return *read_rows(folder() + "/segments/" + file); }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "data";
  std::string catalogue_ = path_ + "/catalogue.db";
  std::string folder_of_segments_ = path_ + "/segments";
};

TEST_F(ConversionTest, AWriterFindsTheSameRowsInSegmentsOfToday) {
  const auto many_rows = random_rows(140'000);
  add_segment("000000000001.rows", kFewRows);
  add_segment("000000000009.2.rows", many_rows);
  const auto opened = DataDirectory::open_for_writing(path_);
  ASSERT_TRUE(opened) << opened.error().text();
  EXPECT_EQ(format(), fmt::format("{}\n", kDirectoryFormat));
  EXPECT_THAT(visible_files(), ElementsAre("000000000001.format6.rows", "000000000009.2.format6.rows"));
  EXPECT_EQ(rows_in("000000000001.format6.rows"), kFewRows);
  EXPECT_EQ(rows_in("000000000009.2.format6.rows"), many_rows);
  EXPECT_FALSE(std::filesystem::exists(folder() + "/segments/000000000001.rows"));
}

TEST_F(ConversionTest, RowsOfAJobStandTogetherAfterwards) {
  const std::vector<Row> by_id = store::rows_of({{1, 1, 1, 1, 1, 1}, {1, 2, 1, 1, 1, 1}, {1, 3, 1, 1, 1, 1}});
  write_bytes(path_ + "/FORMAT", "5\n");
  {
    auto catalogue = *Catalogue::open(catalogue_, sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(catalogue.database().run(
        "INSERT INTO workload (id, job, instance, app, image, build_id, revision, compiler, builder) VALUES "
        "(1, 'web', 'a', '', '', '', '', '', ''), (2, 'batch', 'b', '', '', '', '', '', ''), "
        "(3, 'web', 'c', '', '', '', '', '', '')"));
  }
  add_segment("000000000001.rows", by_id, encode_segment_of_version_2(by_id));
  add_segment("000000000002.rows", by_id, encode_segment_of_version_1(by_id));
  const auto opened = DataDirectory::open_for_writing(path_);
  ASSERT_TRUE(opened) << opened.error().text();
  EXPECT_EQ(format(), fmt::format("{}\n", kDirectoryFormat));
  for (const char* file : {"000000000001.format6.rows", "000000000002.format6.rows"}) {
    const auto rows = scan_rows(folder() + "/segments/" + file);
    ASSERT_TRUE(rows) << rows.error().text();
    EXPECT_EQ(*rows, (std::vector<Row>{by_id[0], by_id[2], by_id[1]})) << file;
  }
}

TEST_F(ConversionTest, ASegmentOfVersion2WithMoreRowsThanTheCatalogueSaysIsDamaged) {
  add_segment("000000000001.rows", {kFewRows[0]}, encode_segment_of_version_2(kFewRows));
  const auto refused = DataDirectory::open_for_writing(path_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(refused.error().message, HasSubstr("2 rows, more than 1"));
}

TEST_F(ConversionTest, GoesOnAfterACrash) {
  add_segment("000000000001.format6.rows", kFewRows, encode_segment(kFewRows));
  add_segment("000000000002.rows", kFewRows);
  // Written, but not yet visible.
  write_bytes(folder_of_segments_ + "/000000000002.format6.rows", "half of it");
  ASSERT_TRUE(DataDirectory::open_for_writing(path_));
  EXPECT_THAT(visible_files(), ElementsAre("000000000001.format6.rows", "000000000002.format6.rows"));
  EXPECT_EQ(rows_in("000000000001.format6.rows"), kFewRows);
  EXPECT_EQ(rows_in("000000000002.format6.rows"), kFewRows);
}

TEST_F(ConversionTest, NamesAllThatIsDamagedAndConvertsTheOthers) {
  std::string damaged = encode_segment_of_version_1(kFewRows);
  damaged.back() = static_cast<char>(damaged.back() + 1);
  add_segment("000000000001.rows", kFewRows, damaged);
  add_segment("000000000002.rows", kFewRows);
  add_segment("000000000003.rows", kFewRows);
  std::filesystem::remove(folder_of_segments_ + "/000000000003.rows");
  const auto refused = DataDirectory::open_for_writing(path_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("2 of 3 segments"), HasSubstr("000000000001.rows"),
                                             HasSubstr("000000000003.rows"), Not(HasSubstr("000000000002"))));
  EXPECT_THAT(refused.error().hint, HasSubstr("catalogue.db"));
  EXPECT_EQ(format(), "4\n");
  EXPECT_EQ(rows_in("000000000002.format6.rows"), kFewRows);

  write_bytes(folder_of_segments_ + "/000000000001.rows", encode_segment_of_version_1(kFewRows));
  write_bytes(folder_of_segments_ + "/000000000003.rows", encode_segment_of_version_1(kFewRows));
  EXPECT_TRUE(DataDirectory::open_for_writing(path_)) << "from a backup";
  EXPECT_EQ(format(), fmt::format("{}\n", kDirectoryFormat));
}

TEST_F(ConversionTest, EveryFlippedBitIsFoundAndNamed) {
  const std::string path = folder_ / "some.rows";
  const std::string healthy = encode_segment_of_version_1(kFewRows);
  for (size_t bit = 0; bit < healthy.size() * 8; ++bit) {
    std::string bytes = healthy;
    bytes[bit / 8] = static_cast<char>(static_cast<unsigned char>(bytes[bit / 8]) ^ 1U << (bit % 8));
    std::filesystem::remove(path);  // overwriting a file waits for the disk
    write_bytes(path, bytes);
    const auto refused = read_segment_of_version_1(path, kFewRows.size());
    ASSERT_FALSE(refused) << "bit " << bit;
    EXPECT_THAT(refused.error().message, HasSubstr(path));
  }
}

TEST_F(ConversionTest, EveryCutAndAnotherNumberOfRowsIsFound) {
  const std::string path = folder_ / "some.rows";
  const std::string healthy = encode_segment_of_version_1(kFewRows);
  for (size_t size = 0; size < healthy.size(); ++size) {
    std::filesystem::remove(path);
    write_bytes(path, std::string_view(healthy).substr(0, size));
    ASSERT_FALSE(read_segment_of_version_1(path, kFewRows.size())) << size << " bytes";
  }
  write_bytes(path, healthy);
  EXPECT_EQ(*read_segment_of_version_1(path, kFewRows.size()), kFewRows);
  EXPECT_EQ(read_segment_of_version_1(path, kFewRows.size() + 1).error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace plimsoll::store
