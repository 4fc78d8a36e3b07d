// What `plimsoll store check` finds in the spans of request traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/time.h"
#include "store/care/backup.h"
#include "store/care/check.h"
#include "store/identity/directory_identity.h"
#include "store/ingest.h"
#include "store/spans/finding_store.h"
#include "store/spans/local_span_sink.h"
#include "store/store.h"
#include "tests/temporary_directory.h"
#include "tests/traces/span_fixture.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store::care_span_check_test {
namespace {

using plimsoll::testing::answer_of;
using plimsoll::testing::RandomSpans;
using plimsoll::testing::span_set_of;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class CareSpanCheckTest : public ::testing::Test {
 protected:
  // Two sealed blocks with a file each, and a third with a file and spans that are in none.
  void SetUp() override {
    ingest_ = *Ingest::open(path_);
    for (const uint64_t max_bytes : {uint64_t{1}, uint64_t{1} << 30}) {
      const auto sink = open_sink(max_bytes);
      ASSERT_TRUE(sink) << sink.error().text();
      for (const size_t count : {30, 25}) {
        ASSERT_TRUE((*sink)->add(span_set_of(random_.next(count)), 1));
      }
    }
    const auto sink = open_sink(uint64_t{1} << 30);
    ASSERT_TRUE(sink) << sink.error().text();
    ASSERT_TRUE((*sink)->add(span_set_of(random_.next(5)), 1));
  }

  Result<std::unique_ptr<LocalSpanSink>> open_sink(uint64_t max_bytes) const {
    return LocalSpanSink::open(ingest_->directory().spans_path(), read_identity(path_)->id,
                               {.max_bytes = max_bytes, .max_recent = 20}, wall_now_ns);
  }

  std::vector<std::string> check() const {
    const auto report = check_store(path_);
    EXPECT_TRUE(report) << report.error().text();
    std::vector<std::string> lines;
    for (const Finding& finding : report ? report->findings : std::vector<Finding>()) {
      EXPECT_FALSE(finding.remedy.empty()) << finding.what;
      lines.push_back(
          fmt::format("{}{}: {}", finding.file, finding.is_damage ? "" : " (note)", finding.what));
    }
    return lines;
  }

  void run_sql(const std::string& block, const std::string& sql) const {
    auto database = *sqlite::Database::open(fmt::format("{}/spans/{}/catalogue.db", path_, block),
                                            sqlite::OpenMode::kReadWrite);
    const Status done = database.run(sql);
    ASSERT_TRUE(done) << done.error().text();
  }

  std::string a_file(const std::string& block) const {
    const std::string folder = fmt::format("spans/{}/segments", block);
    for (const auto& entry : std::filesystem::directory_iterator(path_ + "/" + folder)) {
      return fmt::format("{}/{}", folder, entry.path().filename().string());
    }
    return "";
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "data";
  std::unique_ptr<Ingest> ingest_;
  RandomSpans random_{3};
};

TEST_F(CareSpanCheckTest, HealthySpansHaveNoFindings) {
  EXPECT_THAT(check(), IsEmpty());
  const auto report = *check_store(path_);
  EXPECT_EQ(report.span_blocks, 3);
  EXPECT_EQ(report.span_segments, 4);
  EXPECT_GE(report.spans, answer_of(*open_span_source(path_)).size()) << "copies count";
  EXPECT_GT(report.spans, 60);
}

TEST_F(CareSpanCheckTest, ShowsWhichFileIsRead) {
  std::vector<std::string> files;
  ASSERT_TRUE(check_store(path_, [&](const CareProgress& progress) { files.push_back(progress.file); }));
  EXPECT_THAT(files, Contains("spans/000002/catalogue.db"));
  EXPECT_THAT(files, Contains(a_file("000002")));
}

TEST_F(CareSpanCheckTest, MayRunBesideTheWriter) {
  const auto sink = open_sink(100'000);
  ASSERT_TRUE(sink) << sink.error().text();
  for (int batch = 0; batch < 10; ++batch) {
    ASSERT_TRUE((*sink)->add(span_set_of(random_.next(1 + random_.below(40))), 1));
    EXPECT_THAT(check(), IsEmpty());
  }
}

TEST_F(CareSpanCheckTest, EveryKindOfDamageIsFound) {
  struct Damage {
    std::string block;
    std::string sql;
    std::string line;
  };
  const std::vector<Damage> kinds = {
      {"000001", "UPDATE method SET service = 999 WHERE id = 1", "the methods 1 of a block of spans"},
      {"000001", "DELETE FROM method WHERE id = 1", "of a block of spans do not follow each other"},
      {"000001", "DELETE FROM process WHERE id = (SELECT max(id) FROM process)", "do not fit together"},
      {"000001", "UPDATE segment SET spans = spans + 1", "in the catalogue it has"},
      {"000001", "UPDATE segment SET bytes = bytes + 1", "in the catalogue it has"},
      {"000001", "UPDATE segment SET from_ns = from_ns + 1", "the times in the catalogue are not those"},
      {"000001", "UPDATE block SET to_ns = from_ns", "the block does not cover its times"},
      {"000001", "UPDATE directory_identity SET directory = x'00'", "is of another data directory"},
      {"000001", "DROP TABLE recent", "recent"},
      {"000003", "UPDATE recent SET records = substr(records, 2)", "that are in no file yet are damaged"},
      {"000003", "UPDATE recent SET spans = spans + 1", "that are in no file yet are damaged"},
      {"000003", "UPDATE block SET is_sealed = 1", "the block is sealed, and has spans"},
      {"000003", "UPDATE block SET from_ns = to_ns", "the block does not cover"},
  };
  const std::string kept = folder_ / "kept";
  std::filesystem::copy(path_, kept, std::filesystem::copy_options::recursive);
  for (const Damage& damage : kinds) {
    SCOPED_TRACE(damage.sql);
    std::filesystem::remove_all(path_ + "/spans");
    std::filesystem::copy(kept + "/spans", path_ + "/spans", std::filesystem::copy_options::recursive);
    run_sql(damage.block, damage.sql);
    EXPECT_THAT(check(),
                Contains(AllOf(StartsWith(fmt::format("spans/{}/", damage.block)), HasSubstr(damage.line))));
    EXPECT_TRUE(check_store(path_)->is_damaged);
  }
}

TEST_F(CareSpanCheckTest, FilesThatAreMissingOrTooManyAreNamed) {
  const std::string file = a_file("000002");
  std::filesystem::copy_file(path_ + "/" + file, path_ + "/spans/000002/segments/hidden.spans");
  EXPECT_THAT(check(), Contains(StartsWith("spans/000002/segments/hidden.spans (note): no file of the")));
  EXPECT_FALSE(check_store(path_)->is_damaged);
  std::filesystem::remove(path_ + "/spans/000002/segments/hidden.spans");
  std::filesystem::create_directories(path_ + "/spans/000004.tmp");
  EXPECT_THAT(check(), Contains(StartsWith("spans/000004.tmp (note): no block")));
  std::filesystem::remove_all(path_ + "/spans/000004.tmp");
  std::filesystem::remove(path_ + "/" + file);
  EXPECT_THAT(check(), Contains(StartsWith(file + ": the file is missing")));
  std::filesystem::remove(path_ + "/spans/000002/catalogue.db");
  EXPECT_THAT(check(), Contains(HasSubstr("spans/000002/catalogue.db is missing")));
  std::filesystem::remove_all(path_ + "/spans/000002");
  EXPECT_THAT(check(), Contains(StartsWith("spans: blocks between 000001 and 000003 are missing")));
}

// As someone puts it aside who wants to look at it.
TEST_F(CareSpanCheckTest, AFileThatWasPutAsideIsNamedInAnswers) {
  const std::string file = a_file("000002");
  std::filesystem::create_directories(path_ + "/quarantine");
  std::filesystem::rename(path_ + "/" + file, path_ + "/quarantine/some.spans");
  uint64_t spans = 0;
  const auto damaged = open_span_source(path_)->read({}, [&](const StoredSpan&) -> Status {
    ++spans;
    return {};
  });
  ASSERT_TRUE(damaged) << damaged.error().text();
  ASSERT_THAT(*damaged, SizeIs(1));
  EXPECT_EQ(damaged->front().path, path_ + "/" + file);
  EXPECT_GT(damaged->front().rows, 0);
  EXPECT_THAT(damaged->front().why, HasSubstr(file));
  EXPECT_GT(spans, 0);
}

TEST_F(CareSpanCheckTest, EveryBitFlipOfAFileIsFoundAndNamed) {
  const std::string name = a_file("000001");
  const std::string before = *read_file(path_ + "/" + name, 1 << 20);
  for (size_t bit = 0; bit < before.size() * 8; bit += 97) {
    std::string damaged = before;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    write_bytes(path_ + "/" + name, damaged);
    const auto found = check();
    ASSERT_THAT(found, SizeIs(1)) << "bit " << bit;
    ASSERT_THAT(found, Each(StartsWith(name + ": "))) << "bit " << bit;
  }
}

TEST_F(CareSpanCheckTest, FindingsAreCheckedAndBackedUp) {
  const DiagnosedHour hour{
      .begin_ns = 5, .requests = 7, .note = "why", .categories = {}, .findings = {{.service = "db"}}};
  {
    auto findings = FindingStore::open(ingest_->directory().spans_path(), read_identity(path_)->id);
    ASSERT_TRUE(findings) << findings.error().text();
    ASSERT_TRUE(findings->add(hour, 0));
  }
  EXPECT_THAT(check(), IsEmpty());
  ASSERT_TRUE(back_up(path_, folder_ / "backup"));
  auto copied = FindingStore::open_if_there(folder_ / "backup/spans");
  ASSERT_TRUE(copied && *copied);
  std::vector<DiagnosedHour> hours;
  ASSERT_TRUE((*copied)->visit(0, 10, true, [&](const DiagnosedHour& one) { hours.push_back(one); }));
  EXPECT_THAT(hours, ::testing::ElementsAre(hour));
  auto database = *sqlite::Database::open(path_ + "/spans/findings.db", sqlite::OpenMode::kReadWrite);
  ASSERT_TRUE(database.run("PRAGMA foreign_keys=OFF; DELETE FROM hour"));
  EXPECT_THAT(check(), Contains(AllOf(StartsWith("spans/findings.db: "), HasSubstr("that is not there"))));
}

// They go by themselves, and nothing repairs them: a directory must not be without a backup until then.
TEST_F(CareSpanCheckTest, DamagedSpansKeepNothingFromBeingBackedUp) {
  const std::string name = a_file("000001");
  std::string content = *read_file(path_ + "/" + name, 1 << 20);
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
  write_bytes(path_ + "/" + name, content);
  const auto report = back_up(path_, folder_ / "backup");
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_TRUE(report->is_damaged);
  EXPECT_THAT(report->findings, SizeIs(1));
}

}  // namespace
}  // namespace plimsoll::store::care_span_check_test
