#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "store/compaction/compactor.h"
#include "store/model/dictionaries.h"
#include "tests/conformance/plain_row.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store {
namespace {

using plimsoll::testing::make_profile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class CompactionTest : public ::testing::Test {
 protected:
  CompactionTest() { open(); }

  void open() {
    compactor_.reset();
    ingest_.reset();
    ingest_ = *Ingest::open(path_);
    compactor_ = *Compactor::open(*ingest_, {.keep_replaced = keep_replaced_});
  }

  // A segment for each profile.
  void add_segments(uint64_t first_seed, uint64_t count) {
    for (uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
      const auto profile = make_profile({.seed = seed,
                                         .machine = fmt::format("m{}", seed % 3),
                                         .from_ns = 1'000'000'000 * static_cast<int64_t>(seed),
                                         .stacks = fmt::format("main;f{} {}\nmain 1\n", seed % 5, seed)});
      ASSERT_TRUE(ingest_->accept(as_bytes(wire::encode(profile)), {}));
      ASSERT_TRUE(ingest_->build_pending());
    }
  }

  std::vector<SegmentEntry> segments() {
    auto catalogue = *Catalogue::open(path_ + "/blocks/000001/catalogue.db", sqlite::OpenMode::kRead);
    return *visible_segments(catalogue.database());
  }

  std::vector<std::string> visible_files() {
    std::vector<std::string> files;
    for (const SegmentEntry& segment : segments()) {
      files.push_back(segment.file);
    }
    std::ranges::sort(files);
    return files;
  }

  std::vector<std::string> files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path_ + "/blocks/000001/segments")) {
      files.push_back(entry.path().filename().string());
    }
    std::ranges::sort(files);
    return files;
  }

  // Origins and stacks have the same IDs before and after a merge.
  std::vector<Row> rows() {
    std::vector<std::string> paths;
    for (const std::string& file : visible_files()) {
      paths.push_back(path_ + "/blocks/000001/segments/" + file);
    }
    return *read_rows(*LocalRows::open(paths));
  }

  // In the order of the file.
  std::vector<uint32_t> workloads_in(const std::string& file) {
    std::vector<uint32_t> workloads;
    const auto rows = *scan_rows(path_ + "/blocks/000001/segments/" + file);
    for (const Row& row : rows) {
      if (workloads.empty() || workloads.back() != row[Column::kWorkload]) {
        workloads.push_back(row[Column::kWorkload]);
      }
    }
    return workloads;
  }

  CompactionReport merge_all() {
    const auto report = compactor_->merge_all();
    EXPECT_TRUE(report) << report.error().text();
    return report.value_or(CompactionReport{});
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "data";
  std::chrono::seconds keep_replaced_ = std::chrono::seconds(0);
  std::unique_ptr<Ingest> ingest_;
  std::unique_ptr<Compactor> compactor_;
};

TEST_F(CompactionTest, EightSegmentsBecomeOneWithTheSameRows) {
  add_segments(1, 8);
  EXPECT_EQ(*compactor_->count_segments(), 8);
  const auto before = rows();
  const CompactionReport report = merge_all();
  EXPECT_EQ(report.merged, 8);
  EXPECT_EQ(report.made, 1);
  EXPECT_EQ(report.rows, before.size());
  EXPECT_EQ(rows(), before);
  EXPECT_THAT(files(), ElementsAre("000000000008.1.rows"));
  EXPECT_EQ(*compactor_->count_segments(), 1);
  ASSERT_THAT(segments(), SizeIs(1));
  const SegmentEntry made = segments()[0];
  EXPECT_EQ(made.rows, before.size());
  EXPECT_EQ(made.bytes, std::filesystem::file_size(path_ + "/blocks/000001/segments/" + made.file));
  EXPECT_EQ(made.from_ns, 1'000'000'000);
  EXPECT_EQ(made.to_ns, 9'000'000'000);
  EXPECT_EQ(merge_all().merged, 0);
}

// Machines take turns: each brings an instance of one of two jobs.
TEST_F(CompactionTest, RowsOfAJobStandTogether) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const auto profile = make_profile({.seed = seed,
                                       .machine = fmt::format("m{}", seed),
                                       .process = fmt::format("p{}", seed),
                                       .job = seed % 2 == 0 ? "web" : "batch",
                                       .stacks = "main;work 1\nmain 1\n"});
    ASSERT_TRUE(ingest_->accept(as_bytes(wire::encode(profile)), {}));
    if (seed % 2 == 0) {
      ASSERT_TRUE(ingest_->build_pending());
    }
    if (seed == 4) {
      EXPECT_EQ(workloads_in(visible_files()[0]), (std::vector<uint32_t>{1, 2}));
    }
  }
  compactor_ = *Compactor::open(*ingest_, CompactionLimits::thorough(1000));
  merge_all();
  EXPECT_EQ(workloads_in(visible_files()[0]), (std::vector<uint32_t>{1, 3, 5, 7, 9, 2, 4, 6, 8, 10}));
}

TEST_F(CompactionTest, NamesAndIdsAreNeverUsedTwice) {
  std::map<std::string, int64_t> seen;
  for (uint64_t round = 0; round < 80; ++round) {
    add_segments(1 + round * 2, 2);
    if (round % 3 == 0) {
      merge_all();
    }
    if (round % 16 == 0) {
      open();
    }
    for (const SegmentEntry& segment : segments()) {
      const auto [known, is_new] = seen.try_emplace(segment.file, segment.id);
      ASSERT_EQ(known->second, segment.id) << segment.file << " is another segment now";
    }
  }
  std::set<int64_t> ids;
  for (const auto& [file, id] : seen) {
    EXPECT_TRUE(ids.insert(id).second) << "ID " << id << " was two segments";
  }
  EXPECT_EQ(files(), visible_files());
  EXPECT_THAT(seen, ::testing::Contains(::testing::Key(HasSubstr(".2.rows")))) << "merged twice";
}

TEST_F(CompactionTest, ASegmentThatWasMergedBetweenReadingTheListAndOpeningItIsReadElsewhere) {
  add_segments(1, 8);
  const auto list_before = segments();
  const auto rows_before = rows();
  // Opened before the merge: stays readable after it.
  const auto opened = LocalRows::open({path_ + "/blocks/000001/segments/" + list_before[0].file});
  merge_all();
  EXPECT_THAT(*read_rows(*opened), SizeIs(2));
  EXPECT_EQ(compactor_->remove_due(), std::nullopt);
  EXPECT_EQ(LocalRows::open({path_ + "/blocks/000001/segments/" + list_before[0].file}).error().code,
            ErrorCode::kNotFound);
}

TEST_F(CompactionTest, ReplacedFilesStayForReadersWhoHaveReadTheListUntilTheyAreDue) {
  keep_replaced_ = std::chrono::hours(1);
  open();
  add_segments(1, 8);
  const auto rows_before = rows();
  std::vector<std::string> list_before;
  for (const std::string& file : visible_files()) {
    list_before.push_back(path_ + "/blocks/000001/segments/" + file);
  }
  EXPECT_EQ(compactor_->remove_due(), std::nullopt) << "nothing was replaced yet";
  merge_all();
  EXPECT_THAT(visible_files(), ElementsAre("000000000008.1.rows"));
  EXPECT_EQ(*read_rows(*LocalRows::open(list_before)), rows_before);
  EXPECT_GT(compactor_->remove_due(), Compactor::Clock::now() + std::chrono::minutes(59));
  EXPECT_THAT(files(), SizeIs(9));
  compactor_.reset();
  EXPECT_EQ(files(), visible_files()) << "who merged leaves no file behind";
}

// --- crashes and failures

TEST_F(CompactionTest, ACrashBeforeTheCommitLeavesTheInputs) {
  add_segments(1, 8);
  const auto before = rows();
  write_bytes(path_ + "/blocks/000001/segments/000000000008.1.rows", encode_segment(before));
  write_bytes(path_ + "/blocks/000001/segments/000000000008.1.rows.77.tmp", "PLIM");
  open();
  EXPECT_EQ(files(), visible_files());
  EXPECT_THAT(files(), SizeIs(8));
  EXPECT_EQ(rows(), before);
  EXPECT_EQ(merge_all().merged, 8);
  EXPECT_EQ(rows(), before);
}

TEST_F(CompactionTest, ACrashAfterTheCommitLeavesTheOutput) {
  add_segments(1, 8);
  const auto before = rows();
  std::filesystem::copy(path_ + "/blocks/000001/segments", folder_ / "copy");
  merge_all();
  std::filesystem::copy(folder_ / "copy",
                        path_ + "/blocks/000001/segments");  // as if the inputs had not been removed yet
  ASSERT_THAT(files(), SizeIs(9));
  EXPECT_EQ(rows(), before);
  open();
  EXPECT_THAT(files(), ElementsAre("000000000008.1.rows"));
  EXPECT_EQ(rows(), before);
}

TEST_F(CompactionTest, WhenTheOutputCannotBeWrittenTheInputsStay) {
  add_segments(1, 8);
  const auto before = rows();
  std::filesystem::create_directories(path_ + "/blocks/000001/segments/000000000008.1.rows/in-the-way");
  const auto failed = compactor_->merge_all();
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("000000000008.1.rows"));
  EXPECT_EQ(rows(), before);
  std::filesystem::remove_all(path_ + "/blocks/000001/segments/000000000008.1.rows");
  EXPECT_EQ(merge_all().merged, 8);
  EXPECT_EQ(rows(), before);
}

TEST_F(CompactionTest, WhenTheSwapFailsNothingHasChanged) {
  add_segments(1, 8);
  const auto before = rows();
  ASSERT_TRUE(ingest_->write_catalogue(ingest_->blocks()->back(), [](sqlite::Database& catalogue) {
    return catalogue.run(
        "CREATE TRIGGER refuse BEFORE DELETE ON segment WHEN old.id = 5 BEGIN SELECT RAISE(ABORT, 'no'); "
        "END");
  }));
  EXPECT_FALSE(compactor_->merge_all());
  EXPECT_THAT(files(), SizeIs(8));
  EXPECT_EQ(files(), visible_files());
  EXPECT_EQ(rows(), before);
}

TEST_F(CompactionTest, ADamagedSegmentIsNamedAndLeftAndTheOthersAreMerged) {
  add_segments(1, 9);
  const std::string damaged = path_ + "/blocks/000001/segments/000000000004.rows";
  std::string bytes = encode_segment(rows_of({{1, 1, 1, 1, 1, 1}}));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(damaged, bytes);
  const CompactionReport report = merge_all();
  EXPECT_EQ(report.merged, 8);
  ASSERT_THAT(report.damaged, SizeIs(1));
  EXPECT_THAT(report.damaged[0], HasSubstr(damaged));
  EXPECT_THAT(visible_files(), ElementsAre("000000000004.rows", "000000000009.1.rows"));
}

TEST_F(CompactionTest, ASegmentOfMoreRowsThanTheCatalogueSaysIsDamaged) {
  add_segments(1, 9);
  write_bytes(path_ + "/blocks/000001/segments/000000000004.rows",
              encode_segment(rows_of({{1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 2, 1}, {1, 1, 1, 1, 3, 1}})));
  const CompactionReport report = merge_all();
  ASSERT_THAT(report.damaged, SizeIs(1));
  EXPECT_THAT(report.damaged[0], HasSubstr("000000000004.rows has 3 rows, more than the 2 in the catalogue"));
}

TEST_F(CompactionTest, OnceItIsStoppedItMergesNothingMore) {
  add_segments(1, 8);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(compactor_->merge_once(stop.get_token())->merged, 0);
  EXPECT_THAT(files(), SizeIs(8));
  EXPECT_EQ(merge_all().merged, 8);
}

TEST_F(CompactionTest, WhatIsMergedWhileABatchIsBuiltDoesNotDisturbIt) {
  add_segments(1, 8);
  ASSERT_TRUE(ingest_->accept(as_bytes(wire::encode(make_profile({.seed = 100}))), {}));
  merge_all();
  EXPECT_EQ(ingest_->build_pending()->profiles, 1);
  EXPECT_THAT(visible_files(), ElementsAre("000000000008.1.rows", "000000000009.rows"));
}

}  // namespace
}  // namespace plimsoll::store
