// Blocks that are merged: what they answer, and what is kept of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "query/views/top.h"
#include "store/care/check.h"
#include "store/catalogue/catalogue.h"
#include "store/frames/binding_writer.h"
#include "store/merging/block_merger.h"
#include "store/retention/retention.h"
#include "store/rollup/roll_up.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/care_answers.h"
#include "tests/unit/store/care_fixture.h"

namespace plimsoll::store::care_merging_test {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;
constexpr int64_t kStartNs = 472'222 * kHourNs;

std::string findings_in(const std::string& path) {
  const auto report = check_store(path);
  if (!report) {
    return report.error().text();
  }
  std::string text;
  for (const Finding& finding : report->findings) {
    text += finding.file + ": " + finding.what + "\n";
  }
  return text;
}

void roll_up_all(Ingest& ingest) {
  RollUp rolled(ingest, {.keep_replaced = {}});
  for (auto report = rolled.run_once_before(INT64_MAX); !report || report->block != 0;
       report = rolled.run_once_before(INT64_MAX)) {
    ASSERT_TRUE(report) << report.error().text();
  }
}

// "1-4 5-8 9": those that blocks are of.
std::string blocks_in(Ingest& ingest) {
  std::string text;
  const auto blocks = ingest.blocks();
  for (const BlockFolder& block : *blocks) {
    text += text.empty() ? "" : " ";
    text += block.first == block.number ? fmt::format("{}", block.number)
                                        : fmt::format("{}-{}", block.first, block.number);
  }
  return text;
}

constexpr MergeLimits kNow{.keep_replaced = {}};

// "1-4"; empty: none; or an error.
std::string merge_once(BlockMerger& merger, const std::stop_token& stop = {}) {
  const auto report = merger.run_once(stop);
  return !report               ? report.error().text()
         : report->blocks == 0 ? ""
                               : fmt::format("{}-{}", report->first, report->last);
}

std::string merge_once(Ingest& ingest, const MergeLimits& limits = kNow,
                       const BlockMerger::Environment& environment = {}) {
  BlockMerger merger(ingest, limits, environment);
  return merge_once(merger);
}

// The sum of a number over all blocks but the newest.
int64_t sum_of(Ingest& ingest, const std::string& sql) {
  int64_t sum = 0;
  const auto blocks = ingest.blocks();
  for (size_t i = 0; i + 1 < blocks->size(); ++i) {
    auto catalogue = *Catalogue::open((*blocks)[i].catalogue_path(), sqlite::OpenMode::kRead);
    const auto number = catalogue.database().integer(sql, 0);
    EXPECT_TRUE(number) << number.error().text();
    sum += number.value_or(0);
  }
  return sum;
}

// What margins, weights and accounts of a directory are made of, and what it was made of.
std::vector<int64_t> facts_of(Ingest& ingest) {
  std::vector<int64_t> facts;
  for (const char* sql :
       {"SELECT profiles FROM roll_up", "SELECT count(*) FROM origin", "SELECT count(*) FROM origin_event",
        "SELECT sum(hits) FROM origin_event", "SELECT sum(samples) FROM origin_event",
        "SELECT sum(cast(scale * 1000 AS INTEGER)) FROM origin_event", "SELECT count(*) FROM rolled_up_event",
        "SELECT sum(profiles) FROM rolled_up_event", "SELECT sum(observed_ns) FROM rolled_up_event",
        "SELECT sum(cast(effective_samples * 1000 AS INTEGER)) FROM rolled_up_event",
        "SELECT count(*) FROM unbuildable", "SELECT sum(archive_sequence) FROM origin"}) {
    facts.push_back(sum_of(ingest, sql));
  }
  return facts;
}

std::map<std::string, double> functions_of(const std::string& path) {
  std::map<std::string, double> functions;
  const auto snapshot = query::Snapshot::load(path);
  const auto table = query::top(
      *query::parse_top({{"event", "cycles"}, {"by", "function"}, {"limit", "1000"}}, 0), **snapshot);
  EXPECT_TRUE(table) << table.error().text();
  for (const auto& row : table->rows) {
    functions[std::get<std::string>(row[0])] = std::get<double>(row[1]);
  }
  return functions;
}

wire::Binary tool() {
  wire::Binary binary;
  binary.set_identity_kind(wire::GNU_BUILD_ID);
  binary.set_identity("\x0a\x0b");
  binary.set_path("/usr/bin/tool");
  return binary;
}

// Blocks of two profiles, an hour each, of which all but the newest are rolled up. Block N has functions of its own, one that all share, code
// at 0x1000 of one binary that all have, and code at 0x2000 + N.
class MergingTest : public ::testing::Test {
 protected:
  void open(uint64_t blocks) {
    ingest_ = *Ingest::open(path_, {.block_limits = {.max_profiles = 2}});
    for (uint64_t seed = 1; seed <= 2 * blocks + 1; ++seed) {
      const uint64_t block = (seed + 1) / 2;
      auto profile = plimsoll::testing::make_profile(
          {.seed = seed,
           .machine = fmt::format("m{}", seed % 3),
           .from_ns = kStartNs + static_cast<int64_t>(seed) * kHourNs,
           .events = {{.name = "cycles", .scale = 1000}, {.name = "alloc-bytes", .unit = wire::BYTES}},
           .job = block % 2 == 0 ? "web" : "db",
           .stacks = fmt::format("main;shared;f{} {}\nthread=io event=alloc-bytes main;shared {}\n", block,
                                 seed, 10 + seed)});
      for (wire::Process& process : *profile.mutable_processes()) {
        process.set_instance(fmt::format("{}-{}", process.job(), seed % 2));
      }
      plimsoll::testing::add_sample(profile, tool(), wire::JIT, 0x77, 1);
      plimsoll::testing::add_sample(profile, tool(), wire::ELF, 0x1000, 1);
      plimsoll::testing::add_sample(profile, tool(), wire::ELF, 0x2000 + block, 1);
      const auto accepted = ingest_->accept(as_bytes(wire::encode(profile)), {});
      ASSERT_TRUE(accepted) << accepted.error().text();
      ASSERT_TRUE(ingest_->build_pending());
    }
  }

  void open_rolled_up(uint64_t blocks) {
    open(blocks);
    roll_up_all(*ingest_);
  }

  BlockFolder block(int64_t number) {
    const auto blocks = ingest_->blocks();
    const auto found = std::ranges::find(*blocks, number, &BlockFolder::number);
    EXPECT_NE(found, blocks->end()) << number;
    return *found;
  }

  // What was looked up in vain has no function.
  void bind(int64_t number, int64_t address, const std::string& function) {
    ASSERT_TRUE(ingest_->write_catalogue(block(number), [&](sqlite::Database& catalogue) -> Status {
      const auto location = catalogue.integer("SELECT id FROM location WHERE kind = ? AND address = ?", 0,
                                              static_cast<int>(wire::ELF), address);
      if (!location || *location == 0) {
        return location ? Status(fail(ErrorCode::kNotFound, "no such address")) : propagate(location);
      }
      Binding binding{.location = static_cast<uint32_t>(*location), .frames = {}};
      if (!function.empty()) {
        binding.frames.push_back({.function = function, .file = "tool.cc", .line = 7});
      }
      return BindingWriter(catalogue).bind(std::vector<Binding>{binding}, 1);
    }));
  }

  void run(int64_t number, const std::string& sql) {
    ASSERT_TRUE(ingest_->write_catalogue(block(number),
                                         [&](sqlite::Database& catalogue) { return catalogue.run(sql); }));
  }

  std::string text(int64_t number, const std::string& sql) {
    auto catalogue = *Catalogue::open(block(number).catalogue_path(), sqlite::OpenMode::kRead);
    std::string text;
    const Status read =
        sqlite::for_each_row(catalogue.database().query(sql),
                             [&](const sqlite::Statement& row) { text += std::string(row.text(0)) + "\n"; });
    EXPECT_TRUE(read) << read.error().text();
    return text;
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "data";
  std::unique_ptr<Ingest> ingest_;
};

TEST(MergingCare, AnswersAndFactsStayAndNothingIsWrong) {
  const plimsoll::testing::TemporaryDirectory folder;
  const std::string path = folder / "data";
  plimsoll::testing::fill_care_directory(path, 1, 26, 6);
  const auto ingest = *Ingest::open(path);
  roll_up_all(*ingest);
  for (const int64_t number : {1, 3}) {
    ASSERT_TRUE(ingest->write_catalogue(
        (*ingest->blocks())[static_cast<size_t>(number) - 1], [&](sqlite::Database& catalogue) {
          return catalogue.execute("INSERT INTO unbuildable VALUES (?, 'none')", -number);
        }));
  }
  const auto answers_before = plimsoll::testing::answers(path);
  const auto functions_before = functions_of(path);
  const std::vector<int64_t> facts_before = facts_of(*ingest);
  const int64_t stacks_before = sum_of(*ingest, "SELECT count(*) FROM stack");
  ASSERT_EQ(facts_before.front(), 24);
  ASSERT_EQ(facts_before[10], 2);
  ASSERT_EQ(merge_once(*ingest), "1-4");
  EXPECT_EQ(blocks_in(*ingest), "1-4 5");
  EXPECT_EQ(plimsoll::testing::answers(path), answers_before);
  EXPECT_EQ(functions_of(path), functions_before);
  EXPECT_EQ(facts_of(*ingest), facts_before);
  EXPECT_LT(sum_of(*ingest, "SELECT count(*) FROM stack"), stacks_before);
  EXPECT_EQ(sum_of(*ingest, "SELECT count(*) FROM segment"), 1) << "sorted as a whole";
  EXPECT_EQ(sum_of(*ingest, "SELECT count(*) FROM kernel_symbols"), 1);
  EXPECT_EQ(findings_in(path), "");
  EXPECT_EQ(merge_once(*ingest), "") << "once";
}

TEST_F(MergingTest, WhatIsMergedIsMergedAgain) {
  open_rolled_up(17);
  const auto before = functions_of(path_);
  const std::vector<int64_t> facts = facts_of(*ingest_);
  EXPECT_EQ(merge_once(*ingest_), "1-4");
  EXPECT_EQ(merge_once(*ingest_), "5-8");
  EXPECT_EQ(merge_once(*ingest_), "9-12");
  EXPECT_EQ(merge_once(*ingest_), "13-16");
  EXPECT_EQ(merge_once(*ingest_), "1-16");
  EXPECT_EQ(merge_once(*ingest_), "");
  EXPECT_EQ(blocks_in(*ingest_), "1-16 17 18");
  EXPECT_EQ(functions_of(path_), before);
  EXPECT_EQ(facts_of(*ingest_), facts);
  EXPECT_EQ(findings_in(path_), "");
  // It is opened as it was left.
  ingest_.reset();
  ingest_ = *Ingest::open(path_, {.block_limits = {.max_profiles = 2}});
  EXPECT_EQ(ingest_->built_up_to(), 35);
  EXPECT_EQ(functions_of(path_), before);
}

TEST_F(MergingTest, FullBlocksAndTheNewestAreNotMerged) {
  open(4);
  EXPECT_EQ(merge_once(*ingest_), "") << "full ones";
  RollUp rolled(*ingest_, {.keep_replaced = {}});
  for (int64_t number = 1; number <= 3; ++number) {
    ASSERT_EQ(rolled.run_once_before(INT64_MAX)->block, number);
    EXPECT_EQ(merge_once(*ingest_), "");
  }
  ASSERT_EQ(rolled.run_once_before(INT64_MAX)->block, 4);
  EXPECT_EQ(merge_once(*ingest_), "1-4");
}

TEST_F(MergingTest, LimitsOfSpanAndSizeLeaveBlocksApart) {
  open_rolled_up(4);
  EXPECT_EQ(merge_once(*ingest_, {.max_span_ns = kHourNs, .keep_replaced = {}}), "");
  EXPECT_EQ(merge_once(*ingest_, {.max_bytes = 1000, .keep_replaced = {}}), "");
  EXPECT_EQ(merge_once(*ingest_, {.max_entries = 10, .keep_replaced = {}}), "");
  EXPECT_EQ(blocks_in(*ingest_), "1 2 3 4 5");
  EXPECT_FALSE(
      std::filesystem::exists(replacement_of(std::vector{block(1), block(2), block(3), block(4)}).path));
  EXPECT_EQ(merge_once(*ingest_), "1-4");
}

TEST_F(MergingTest, TheNamesOfTheLastBlockThatHasSomeStand) {
  open_rolled_up(4);
  bind(1, 0x1000, "old");
  bind(3, 0x1000, "new");
  bind(4, 0x1000, "");
  bind(2, 0x2002, "");
  bind(1, 0x2001, "first");
  run(1, "UPDATE binary SET quality = 2, generation = 1, reasons = 'of 1', looked_at = 'a'");
  run(2, "UPDATE binary SET quality = 3, generation = 5, reasons = 'of 2', looked_at = 'b'");
  run(2, "INSERT OR REPLACE INTO binary_machine SELECT id, 'second' FROM binary");
  run(1, "INSERT OR REPLACE INTO binary_machine SELECT id, 'first' FROM binary");
  ASSERT_EQ(merge_once(*ingest_), "1-4");
  const auto functions = functions_of(path_);
  EXPECT_EQ(functions.count("old"), 0);
  EXPECT_DOUBLE_EQ(functions.at("new"), 9000) << "also in the newest, which has no name for it";
  EXPECT_DOUBLE_EQ(functions.at("first"), 2000);
  EXPECT_EQ(
      text(4, fmt::format("SELECT printf('%x', address) FROM location JOIN binding ON binding.location = "
                          "location.id WHERE kind = {} AND location.id NOT IN (SELECT location FROM frame)",
                          static_cast<int>(wire::ELF))),
      "2002\n")
      << "it was looked up in vain";
  EXPECT_EQ(text(4,
                 "SELECT quality || ' ' || generation || ' ' || reasons || ' ' || looked_at FROM binary "
                 "WHERE path = '/usr/bin/tool'"),
            "2 5 of 1 a\n")
      << "so that what has worse symbols is searched for again";
  EXPECT_EQ(text(4,
                 "SELECT binary_machine.machine_id FROM binary_machine JOIN binary ON binary.id = "
                 "binary_machine.binary "
                 "WHERE path = '/usr/bin/tool'"),
            "first\n");
  EXPECT_EQ(text(4,
                 "SELECT path || ':' || line FROM frame JOIN source_file ON frame.file = source_file.id "
                 "JOIN function ON frame.function = function.id WHERE function.name = 'new'"),
            "tool.cc:7\n");
  EXPECT_EQ(findings_in(path_), "");
}

TEST_F(MergingTest, NamesThatComeWhileRowsAreWrittenAreKept) {
  open_rolled_up(4);
  bind(2, 0x1000, "before");
  EXPECT_EQ(merge_once(*ingest_, kNow, {.rows_written = [&] { bind(2, 0x1000, "meanwhile"); }}), "1-4");
  const auto functions = functions_of(path_);
  EXPECT_EQ(functions.count("before"), 0);
  EXPECT_DOUBLE_EQ(functions.at("meanwhile"), 9000);
}

TEST_F(MergingTest, WhoWritesToWhatWasReplacedIsTold) {
  open_rolled_up(4);
  const BlockFolder second = block(2);
  BlockMerger merger(*ingest_, {.keep_replaced = std::chrono::hours(1)});
  ASSERT_EQ(merge_once(merger), "1-4");
  EXPECT_TRUE(std::filesystem::exists(second.path)) << "for readers who have just listed it";
  EXPECT_EQ(ingest_->write_catalogue(second, [](sqlite::Database&) { return Status(); }).error().code,
            ErrorCode::kNotFound);
  EXPECT_TRUE(ingest_->is_dropped(second));
}

TEST_F(MergingTest, ABlockThatIsDroppedMeanwhileLeavesTheOthersAsTheyAre) {
  open_rolled_up(5);
  EXPECT_EQ(merge_once(*ingest_, kNow, {.rows_written = [&] { ASSERT_TRUE(ingest_->drop_block(block(1))); }}),
            "");
  EXPECT_EQ(blocks_in(*ingest_), "2 3 4 5 6");
  EXPECT_EQ(findings_in(path_), "");
  EXPECT_EQ(merge_once(*ingest_), "2-5");
}

TEST_F(MergingTest, AStopChangesNothing) {
  open_rolled_up(4);
  BlockMerger merger(*ingest_, kNow);
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(merge_once(merger, source.get_token()), "");
  EXPECT_EQ(blocks_in(*ingest_), "1 2 3 4 5");
  EXPECT_EQ(findings_in(path_), "");
  EXPECT_EQ(merge_once(merger), "1-4") << "it is no failure";
}

TEST_F(MergingTest, ADamagedBlockIsNeverMerged) {
  open_rolled_up(7);
  for (const auto& segment : std::filesystem::directory_iterator(block(2).segments_path())) {
    std::filesystem::resize_file(segment.path(), std::filesystem::file_size(segment.path()) - 1);
    break;
  }
  BlockMerger merger(*ingest_, kNow);
  EXPECT_EQ(merge_once(merger), "3-6");
  EXPECT_EQ(merge_once(merger), "");
  EXPECT_EQ(blocks_in(*ingest_), "1 2 3-6 7 8");
  EXPECT_THAT(findings_in(path_), HasSubstr("blocks/000002")) << "it is still seen";
}

TEST_F(MergingTest, OtherHitsThanTheHoursHaveAreDamageOfTheirBlock) {
  open_rolled_up(6);
  run(2, "UPDATE origin_event SET hits = hits + 1 WHERE origin = 1 AND event = 1");
  EXPECT_EQ(merge_once(*ingest_), "3-6");
  EXPECT_EQ(blocks_in(*ingest_), "1 2 3-6 7");
}

TEST_F(MergingTest, AnEntryThatRefersToNoneIsDamageOfItsBlock) {
  open_rolled_up(6);
  run(2, fmt::format("UPDATE location SET owner = 1000000 WHERE kind = {}", static_cast<int>(wire::ELF)));
  EXPECT_EQ(merge_once(*ingest_), "3-6");
  EXPECT_EQ(blocks_in(*ingest_), "1 2 3-6 7");
}

TEST_F(MergingTest, AnEventOfTwoMeaningsKeepsBlocksApart) {
  open_rolled_up(8);
  run(2,
      fmt::format("UPDATE event SET unit = {} WHERE name = 'cycles'", static_cast<int>(wire::NANOSECONDS)));
  BlockMerger merger(*ingest_, kNow);
  EXPECT_EQ(merge_once(merger), "5-8");
  EXPECT_EQ(merge_once(merger), "");
  EXPECT_EQ(blocks_in(*ingest_), "1 2 3 4 5-8 9");
}

TEST_F(MergingTest, AnEventThatWasRenamedIsOne) {
  open(4);
  run(1, "UPDATE event SET name = 'heap-alloc-bytes' WHERE name = 'alloc-bytes'");
  roll_up_all(*ingest_);
  const int64_t hits = sum_of(*ingest_, "SELECT sum(hits) FROM origin_event");
  ASSERT_EQ(merge_once(*ingest_), "1-4");
  EXPECT_EQ(text(4, "SELECT name FROM event ORDER BY name"), "alloc-bytes\ncycles\n");
  EXPECT_EQ(sum_of(*ingest_, "SELECT sum(hits) FROM origin_event"), hits);
  EXPECT_EQ(findings_in(path_), "");
}

// Its owner was the instance, by whose name it is told apart since it is rolled up.
TEST_F(MergingTest, CodeOfAJitStaysApartByItsInstance) {
  open_rolled_up(4);
  const std::string jit = fmt::format(
      "SELECT name || ' ' || job FROM location JOIN workload ON workload.id = owner WHERE kind = {} ORDER BY "
      "1",
      static_cast<int>(wire::JIT));
  ASSERT_EQ(merge_once(*ingest_), "1-4");
  EXPECT_EQ(text(4, jit), "db-0 db\ndb-1 db\nweb-0 web\nweb-1 web\n");
}

TEST_F(MergingTest, WithoutRoomBlocksStayApart) {
  open_rolled_up(4);
  EXPECT_EQ(
      merge_once(*ingest_, kNow, {.free_bytes = [](const std::string&) -> Result<int64_t> { return 1000; }}),
      "");
  EXPECT_EQ(blocks_in(*ingest_), "1 2 3 4 5");
}

TEST_F(MergingTest, BlocksThatFailWaitAndHoldUpNoOthers) {
  open_rolled_up(8);
  BlockMerger::Clock::time_point now;
  int failures_left = 1;
  BlockMerger merger(*ingest_, kNow,
                     {.free_bytes = [&](const std::string&) -> Result<int64_t> {
                        return failures_left-- > 0 ? Result<int64_t>(fail(ErrorCode::kIo, "no answer"))
                                                   : INT64_MAX / 2;
                      },
                      .steady_now = [&] { return now; }});
  EXPECT_EQ(merge_once(merger), "5-8");
  EXPECT_THAT(merge_once(merger), HasSubstr("merging blocks 1 to 4: no answer"));
  failures_left = 1;
  now += std::chrono::seconds(61);
  EXPECT_THAT(merge_once(merger), HasSubstr("merging blocks 1 to 4: no answer")) << "it failed again";
  now += std::chrono::seconds(61);
  EXPECT_THAT(merge_once(merger), HasSubstr("merging blocks 1 to 4: no answer")) << "two minutes now";
  now += std::chrono::seconds(60);
  EXPECT_EQ(merge_once(merger), "1-4");
  EXPECT_EQ(merge_once(merger), "");
}

TEST_F(MergingTest, RetentionDropsWhatIsMergedAsAWhole) {
  open_rolled_up(5);
  ASSERT_EQ(merge_once(*ingest_), "1-4");
  // Its last profile is of hour 8, that of block 5 of hour 10.
  const auto drop_at = [&](int64_t hours) {
    RetentionLimits limits;
    limits.rows_max_age_ns = kHourNs;
    limits.rows_max_bytes = limits.raw_max_bytes = limits.symbols_max_bytes = int64_t{1} << 40;
    limits.raw_max_age_ns = limits.max_upload_age_ns = 100'000 * RetentionLimits::kDayNs;
    limits.min_free_bytes = 1;
    const int64_t now_ns = kStartNs + hours * kHourNs;
    Retention retention(*ingest_, limits, {.now_ns = [now_ns] { return now_ns; }});
    const auto report = retention.enforce();
    EXPECT_TRUE(report) << report.error().text();
    return blocks_in(*ingest_);
  };
  EXPECT_EQ(drop_at(9), "1-4 5 6") << "its last profile is an hour old";
  EXPECT_EQ(drop_at(10), "5 6");
  EXPECT_EQ(findings_in(path_), "");
}

}  // namespace
}  // namespace plimsoll::store::care_merging_test
