// Rolled-up blocks are checked, backed up and restored as others are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "store/blocks/block_folder.h"
#include "store/care/backup.h"
#include "store/care/check.h"
#include "store/rollup/roll_up.h"
#include "tests/temporary_directory.h"
#include "tests/unit/store/care_fixture.h"

namespace plimsoll::store {
namespace {

std::string findings(const std::string& path) {
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

TEST(RollUpCare, IsSoundBackedUpAndRestored) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder / "data";
  testing::fill_care_directory(path, 1, 20, 6);
  const auto roll_up = [&](const RollUpLimits& limits, size_t blocks) {
    const auto ingest = *Ingest::open(path);
    RollUp rolled(*ingest, limits);
    for (size_t i = 0; i < blocks; ++i) {
      const auto report = rolled.run_once_before(INT64_MAX);
      ASSERT_TRUE(report) << report.error().text();
      ASSERT_EQ(report->block, static_cast<int64_t>(i) + 1);
    }
    EXPECT_EQ(findings(path), limits.keep_replaced.count() == 0
                                  ? ""
                                  : "blocks/000001: the block has been rolled up since: left by a crash, or "
                                    "replaced a moment ago\n");
  };
  roll_up({.keep_replaced = std::chrono::hours(1)}, 1);
  EXPECT_EQ(findings(path), "");
  ASSERT_TRUE(back_up(path, folder / "backup"));
  EXPECT_EQ(list_blocks(std::string(folder / "backup") + "/blocks")->front().name(), "000001.1");
  ASSERT_TRUE(restore(folder / "backup", folder / "restored"));
  EXPECT_EQ(findings(folder / "restored"), "");
  const auto ingest = Ingest::open(folder / "restored");
  ASSERT_TRUE(ingest) << ingest.error().text();
  EXPECT_EQ((*ingest)->built_up_to(), 20) << "none is built again";
}

TEST(RollUpCare, HitsThatAreOthersThanTheHoursAreDamage) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder / "data";
  testing::fill_care_directory(path, 1, 8, 6);
  {
    const auto ingest = *Ingest::open(path);
    ASSERT_EQ(RollUp(*ingest, {}).run_once_before(INT64_MAX)->block, 1);
    ASSERT_TRUE(ingest->write_catalogue(ingest->blocks()->front(), [](sqlite::Database& catalogue) {
      return catalogue.execute("UPDATE origin_event SET hits = hits + 1 WHERE origin = 1 AND event = 1");
    }));
  }
  EXPECT_THAT(findings(path),
              ::testing::HasSubstr("blocks/000001.1/catalogue.db: 1 events of profiles have other hits"));
}

}  // namespace
}  // namespace plimsoll::store
