// What `plimsoll store check` finds in recordings of bursts, and what a backup has of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hex.h"
#include "sqlite/database.h"
#include "store/care/backup.h"
#include "store/care/check.h"
#include "store/ingest.h"
#include "store/store.h"
#include "tests/temporary_directory.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::store::care_burst_check_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

traces::BurstRecording recording_of(const std::string& machine, size_t events) {
  traces::BurstRecording recording;
  recording.machine = machine;
  recording.config_bits = 0x7f00;
  recording.cpus = 1;
  recording.threads = {{0, 0, ""}, {7, 7, "worker"}};
  traces::Burst burst;
  burst.planned = {32'512, 32'768};
  burst.off_ns = 256'000'000;
  for (size_t i = 0; i < events; ++i) {
    burst.events.push_back({.time_ns = static_cast<int64_t>(i), .thread = 1});
  }
  recording.bursts = {burst};
  return recording;
}

class CareBurstCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ingest_ = *Ingest::open(path_);
    sink_ = *open_burst_sink(ingest_->directory());
    add('a', recording_of("m1", 3));
    add('b', recording_of("m2", 500));
  }

  static std::string id_of(char letter) { return std::string(kBurstIdBytes, letter); }

  void add(char letter, const traces::BurstRecording& recording) {
    const auto added =
        sink_->add(id_of(letter), *summary_of(recording), as_bytes(traces::encode_bursts(recording)));
    ASSERT_TRUE(added) << added.error().text();
  }

  std::string file_of(char letter) const {
    return path_ + "/bursts/recordings/" + to_hex(id_of(letter)) + ".bursts";
  }

  std::vector<std::string> check() const {
    const auto report = check_store(path_);
    EXPECT_TRUE(report) << report.error().text();
    std::vector<std::string> lines;
    for (const Finding& finding : report ? report->findings : std::vector<Finding>()) {
      EXPECT_FALSE(finding.remedy.empty()) << finding.what;
      lines.push_back(finding.file + (finding.is_damage ? ": " : " (note): ") + finding.what);
    }
    return lines;
  }

  plimsoll::testing::TemporaryDirectory folder_;
  const std::string path_ = folder_ / "data";
  std::unique_ptr<Ingest> ingest_;
  std::unique_ptr<BurstSink> sink_;
};

TEST_F(CareBurstCheckTest, HealthyRecordingsHaveNoFindings) {
  EXPECT_THAT(check(), IsEmpty());
  EXPECT_EQ(check_store(path_)->burst_recordings, 2);
}

TEST_F(CareBurstCheckTest, NamesAFileThatIsDamagedOrMissing) {
  std::string bytes = *read_file(file_of('b'), 1 << 20);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  std::ofstream(file_of('b'), std::ios::binary) << bytes;
  std::filesystem::remove(file_of('a'));
  EXPECT_THAT(check(), ElementsAre(HasSubstr(to_hex(id_of('a'))),
                                   HasSubstr(to_hex(id_of('b')) + ".bursts: it is not what was received")));
}

TEST_F(CareBurstCheckTest, NamesACatalogueThatSaysSomethingElse) {
  auto database = *sqlite::Database::open(path_ + "/bursts/catalogue.db", sqlite::OpenMode::kReadWrite);
  ASSERT_TRUE(database.run("UPDATE recording SET events = 499 WHERE machine = 'm2'"));
  EXPECT_THAT(check(), ElementsAre(HasSubstr("bursts/catalogue.db: what it says of")));
}

TEST_F(CareBurstCheckTest, AFileThatIsNotShownIsANote) {
  std::ofstream(path_ + "/bursts/recordings/left.bursts") << "half";
  EXPECT_THAT(check(), ElementsAre(HasSubstr("left.bursts (note): no recording of the catalogue")));
}

TEST_F(CareBurstCheckTest, ABackupHasAllRecordingsAndGoesOnWithMore) {
  const std::string copy = folder_ / "copy";
  const auto report = back_up(path_, copy);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->burst_recordings, 2);
  EXPECT_FALSE(report->is_damaged);
  EXPECT_EQ(*open_burst_source(copy)->list({}), *open_burst_source(path_)->list({}));
  EXPECT_EQ(*open_burst_source(copy)->read(id_of('b')), *open_burst_source(path_)->read(id_of('b')));
  const auto restored = *Ingest::open(copy);
  const auto sink = *open_burst_sink(restored->directory());
  const auto again = sink->add(id_of('a'), *summary_of(recording_of("m1", 3)),
                               as_bytes(traces::encode_bursts(recording_of("m1", 3))));
  EXPECT_TRUE(again && !*again);
}

// Nothing brings it back, and the rest is worth a backup.
TEST_F(CareBurstCheckTest, ABackupNamesAMissingRecordingAndIsMadeAllTheSame) {
  std::filesystem::remove(file_of('a'));
  const auto report = back_up(path_, folder_ / "copy");
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_TRUE(report->is_damaged);
  EXPECT_EQ(open_burst_source(folder_ / "copy")->list({})->size(), 2);
}

}  // namespace
}  // namespace plimsoll::store::care_burst_check_test
