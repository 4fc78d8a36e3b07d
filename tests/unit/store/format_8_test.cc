// Directories of format 8: segments of version 3, no labels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/durable_file.h"
#include "base/file.h"
#include "proto/profile_codec.h"
#include "store/catalogue/catalogue.h"
#include "store/catalogue/segment_table.h"
#include "store/dictionaries/dictionary_reader.h"
#include "store/directory/data_directory.h"
#include "store/ingest.h"
#include "store/model/dictionaries.h"
#include "store/segments/row_order.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/old_segment_writer.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store {
namespace {

using testing::make_profile;

class Format8Test : public ::testing::Test {
 protected:
  // As the program before labels left it.
  Format8Test() {
    {
      const auto ingest = *Ingest::open(path_);
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        const std::string encoded = wire::encode(make_profile(
            {.seed = seed, .stacks = fmt::format("main;f{} {}\nthread=io main {}\n", seed, seed, 9)}));
        EXPECT_TRUE(ingest->accept(as_bytes(encoded), {}));
        EXPECT_TRUE(ingest->build_pending());
      }
    }
    rows_ = rows();
    auto catalogue = *Catalogue::open(catalogue_path(), sqlite::OpenMode::kReadWrite);
    RowOrder order;
    EXPECT_TRUE(order.add_workloads_of(catalogue.database()));
    for (const auto& file : std::filesystem::directory_iterator(path_ + "/blocks/000001/segments")) {
      const std::string old = OldSegmentWriter(3).encode(*scan_rows(file.path()), order);
      write_bytes(file.path(), old);
      EXPECT_TRUE(catalogue.database().execute("UPDATE segment SET bytes = ? WHERE file = ?", old.size(),
                                               file.path().filename().string()));
    }
    EXPECT_TRUE(catalogue.database().run("DROP TABLE label_set"));
    write_bytes(path_ + "/FORMAT", "8\n");
  }

  std::string catalogue_path() const { return path_ + "/blocks/000001/catalogue.db"; }

  std::vector<Row> rows() const {
    std::vector<std::string> paths;
    for (const auto& file : std::filesystem::directory_iterator(path_ + "/blocks/000001/segments")) {
      paths.push_back(file.path());
    }
    return *read_rows(*LocalRows::open(paths));
  }

  testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "data";
  std::vector<Row> rows_;
};

TEST_F(Format8Test, AReaderFindsTheSameRowsWithoutLabels) {
  EXPECT_EQ(rows(), rows_);
  EXPECT_FALSE(rows_.empty());
  auto catalogue = *Catalogue::open(catalogue_path(), sqlite::OpenMode::kRead);
  const auto entries = load_dictionaries(catalogue.database());
  ASSERT_TRUE(entries) << entries.error().text();
  EXPECT_EQ(entries->label_sets.size(), 1) << "the empty one";
  EXPECT_TRUE(DataDirectory::open_for_reading(path_));
}

TEST_F(Format8Test, AWriterGoesOnInTheSameBlock) {
  const auto ingest = Ingest::open(path_);
  ASSERT_TRUE(ingest) << ingest.error().text();
  EXPECT_EQ(*read_file(path_ + "/FORMAT", 10), fmt::format("{}\n", kDirectoryFormat));
  const std::string encoded =
      wire::encode(make_profile({.seed = 9, .stacks = "labels=color:red main;f1 5\n"}));
  ASSERT_TRUE((*ingest)->accept(as_bytes(encoded), {}));
  ASSERT_EQ((*ingest)->build_pending()->profiles, 1);
  const std::vector<Row> now = rows();
  ASSERT_EQ(now.size(), rows_.size() + 1);
  const auto labelled = std::ranges::count_if(now, [](const Row& row) { return row[Column::kLabels] != 0; });
  EXPECT_EQ(labelled, 1);
}

}  // namespace
}  // namespace plimsoll::store
