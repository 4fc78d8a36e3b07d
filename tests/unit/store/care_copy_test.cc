// Copies of blocks have what the blocks have, go on where they were ended, and are compared by sums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "store/care/check.h"
#include "store/catalogue/catalogue.h"
#include "store/copy/directory_copy.h"
#include "store/copy/local_parts.h"
#include "store/copy/part_copy.h"
#include "store/identity/directory_identity.h"
#include "store/rollup/roll_up.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/care_fixture.h"
#include "tests/unit/store/shown_part.h"

namespace plimsoll::store {
namespace {

using ::testing::HasSubstr;

constexpr size_t kBlocks = 4;  // 6 profiles each, and 2 in the last

class CopyParts : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(testing::fill_care_directory(path_, 1, 20, 6));
    {
      const auto ingest = *Ingest::open(path_);
      ASSERT_EQ(RollUp(*ingest, {}).run_once_before(INT64_MAX)->block, 1);
      const auto blocks = *ingest->blocks();
      ASSERT_TRUE(ingest->write_catalogue(blocks[1], [](sqlite::Database& catalogue) {
        return catalogue.run(
            "UPDATE binary SET quality = 2, generation = 3, reasons = 'no DWARF', looked_at = 'a' WHERE id = "
            "1");
      }));
    }
    id_ = read_identity(path_)->id;
  }

  LocalParts source() const { return {path_ + "/blocks", id_}; }
  LocalParts target() const { return {folder_ / "copied", id_}; }

  Result<PartCopyReport> copy() {
    LocalParts from = source();
    LocalParts to = target();
    return copy_parts(from, to, note_, [this](const CopyNote& note) { return keep(note); });
  }
  Result<CopiedSums> verify() {
    LocalParts from = source();
    LocalParts to = target();
    return verify_parts(from, to, note_, [this](const CopyNote& note) { return keep(note); });
  }

  // As a directory keeps it; fails once it has been kept so often.
  Status keep(const CopyNote& note) {
    if (kept_ == fails_after_) {
      return fail(ErrorCode::kIo, "ended");
    }
    ++kept_;
    const Status written = write_copy_note(folder_.path(), note);
    EXPECT_EQ(*read_copy_note(folder_.path()), note);
    return written;
  }

  const testing::TemporaryDirectory folder_;
  const std::string path_ = folder_ / "data";
  std::string id_;
  CopyNote note_ = make_copy_note({}, {.address = "clickhouse://host/rows"});
  int kept_ = 0;
  int fails_after_ = -1;
};

TEST_F(CopyParts, HaveAllThatTheBlocksHaveAndAreSound) {
  const auto copied = copy();
  ASSERT_TRUE(copied) << copied.error().text();
  EXPECT_EQ(copied->copied, kBlocks);
  const auto sums = verify();
  ASSERT_TRUE(sums) << sums.error().text();
  EXPECT_GT(sums->hits, 0);
  LocalParts from = source();
  LocalParts to = target();
  const auto parts = from.parts();
  ASSERT_TRUE(parts && parts->size() == kBlocks);
  for (const PartState& part : *parts) {
    SCOPED_TRACE(part.number);
    EXPECT_EQ(testing::shown_part(to, part.number), testing::shown_part(from, part.number));
  }
  EXPECT_THAT(testing::shown_part(to, 1), HasSubstr("rolled_up true"));
  EXPECT_THAT(testing::shown_part(to, 2), HasSubstr("account of 1: 2 3 no DWARF a"));
  EXPECT_THAT(testing::shown_part(to, 4), HasSubstr("takes_more true"));

  std::filesystem::remove_all(path_ + "/blocks");
  std::filesystem::rename(folder_ / "copied", path_ + "/blocks");
  const auto checked = check_store(path_);
  ASSERT_TRUE(checked) << checked.error().text();
  for (const Finding& finding : checked->findings) {
    ADD_FAILURE() << finding.file << ": " << finding.what;
  }
  const auto ingest = Ingest::open(path_);
  ASSERT_TRUE(ingest) << ingest.error().text();
  EXPECT_EQ((*ingest)->built_up_to(), 20) << "none is built again";
}

TEST_F(CopyParts, GoOnWhereTheyWereEnded) {
  // The note is kept when the copy begins, and after each part.
  fails_after_ = 3;
  EXPECT_FALSE(copy());
  note_ = *read_copy_note(folder_.path());
  EXPECT_EQ(note_.parts.size(), 2U);
  fails_after_ = -1;
  const auto rest = copy();
  ASSERT_TRUE(rest) << rest.error().text();
  EXPECT_EQ(rest->copied, kBlocks - 2);
  EXPECT_EQ(copy()->copied, 0U);
  {
    const auto ingest = *Ingest::open(path_);
    ASSERT_TRUE(ingest->accept(as_bytes(wire::encode(testing::care_profile(21))), {}));
    ASSERT_TRUE(ingest->build_pending());
  }
  EXPECT_EQ(copy()->copied, 1U) << "the newest block has changed";
  const auto sums = verify();
  ASSERT_TRUE(sums) << sums.error().text();
}

TEST_F(CopyParts, ThatLackRowsAreFoundAndMadeAgain) {
  ASSERT_TRUE(copy());
  {
    auto catalogue = *Catalogue::open(folder_ / "copied/000002/catalogue.db", sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(catalogue.database().run("DELETE FROM segment"));
  }
  const auto damaged = verify();
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(damaged.error().message, HasSubstr("the copy of part 2"));
  EXPECT_THAT(damaged.error().message, HasSubstr("0 hits instead of"));
  EXPECT_EQ(copy()->copied, kBlocks - 1);
  EXPECT_TRUE(verify());
}

TEST_F(CopyParts, ProfilesThatWereSetAsideStaySo) {
  {
    auto catalogue = *Catalogue::open(path_ + "/blocks/000002/catalogue.db", sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(catalogue.database().run("INSERT INTO unbuildable VALUES (1000, 'too large')"));
  }
  ASSERT_TRUE(copy());
  LocalParts to = target();
  EXPECT_THAT(testing::shown_part(to, 2), HasSubstr("set aside 1000: too large"));
  EXPECT_EQ(to.read(2)->last, 1000);
}

TEST_F(CopyParts, RowsThatAreInTheDirectoryAlreadyStay) {
  const auto report = copy_rows(path_, {});
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_TRUE(report->was_there);
  EXPECT_FALSE(report->removed);
  EXPECT_EQ(source().parts()->size(), kBlocks);
}

}  // namespace
}  // namespace plimsoll::store
