// A part of a store that cannot be read costs an answer its rows, and the answer says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "store/catalogue/catalogue.h"
#include "tests/unit/query/registry/fleet_sources.h"

namespace plimsoll::query::damage_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kHourNs = 3600 * int64_t{1'000'000'000};

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Three hours in a block each, then one that is open. Hour N has the function "hourN" with N samples.
class Damage : public ::testing::Test {
 protected:
  Damage() {
    for (int64_t hour = 1; hour <= 4; ++hour) {
      fleet_.add({.seed = static_cast<uint64_t>(hour),
                  .from_ns = kProfileStartNs + hour * kHourNs,
                  .stacks = fmt::format("main;hour{} {}\n", hour, hour)});
    }
  }

  std::string block(int64_t number) const { return fmt::format("{}/blocks/{:06}", fleet_.path(), number); }
  std::string catalogue(int64_t number) const { return block(number) + "/catalogue.db"; }
  std::string segment(int64_t number) const {
    return std::filesystem::directory_iterator(block(number) + "/segments")->path().string();
  }

  // With all that its log has.
  void settle(int64_t number) const {
    auto opened = *store::Catalogue::open(catalogue(number), sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(opened.database().run("PRAGMA wal_checkpoint(TRUNCATE)"));
  }

  Result<Answer> ask(const std::string& view, Parameters parameters = {}) {
    FleetSources sources(fleet_.path());
    return find_view(view)->answer({.parameters = std::move(parameters), .now_ns = kProfileStartNs}, sources);
  }

  // The functions of the hours that are there, and all notes about damage.
  struct Found {
    std::string hours;
    std::vector<std::string> notes;
  };
  Found top(Parameters parameters = {}) {
    const auto answer = ask("top", std::move(parameters));
    EXPECT_TRUE(answer) << answer.error().text();
    Found found;
    if (answer) {
      const auto& table = std::get<Table>(*answer);
      std::set<std::string> hours;
      for (const auto& row : table.rows) {
        hours.insert(std::get<std::string>(row[0]));
      }
      hours.erase("main");
      found.hours = fmt::format("{}", fmt::join(hours, " "));
      std::ranges::copy_if(table.notes, std::back_inserter(found.notes),
                           [](const std::string& note) { return note.starts_with("missing"); });
    }
    return found;
  }

  Parameters from_hour(int64_t hour) const {
    return {{"since", format_time(kProfileStartNs + hour * kHourNs - 1)}};
  }

  Fleet fleet_{{.max_profiles = 1}};
};

TEST_F(Damage, OfASegmentCostsItsRowsAndIsNamed) {
  std::string bytes = *read_file(segment(2), 1 << 20);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(segment(2), bytes);
  const Found found = top();
  EXPECT_EQ(found.hours, "hour1 hour3 hour4");
  EXPECT_THAT(found.notes,
              ElementsAre(AllOf(HasSubstr("1 rows, from " + format_time(kProfileStartNs + 2 * kHourNs)),
                                HasSubstr(segment(2)), HasSubstr("matrix"), HasSubstr("store restore"))));
  EXPECT_THAT(top(from_hour(3)).notes, IsEmpty()) << "nothing of that time is missing";
}

// Of each byte one bit; SegmentDamageTest has all of them.
TEST_F(Damage, OfEveryByteOfASegmentIsNamed) {
  const std::string path = segment(2);
  const std::string sound = *read_file(path, 1 << 20);
  for (size_t byte = 0; byte < sound.size(); ++byte) {
    std::string bytes = sound;
    bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << byte % 8));
    write_bytes(path, bytes);
    const Found found = top();
    ASSERT_EQ(found.hours, "hour1 hour3 hour4") << "byte " << byte;
    ASSERT_THAT(found.notes, ElementsAre(HasSubstr(path))) << "byte " << byte;
  }
}

TEST_F(Damage, ASegmentThatIsGoneIsNamed) {
  const std::string path = segment(3);
  std::filesystem::remove(path);
  const Found found = top();
  EXPECT_EQ(found.hours, "hour1 hour2 hour4");
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr(path)));
}

TEST_F(Damage, OfACatalogueCostsItsBlock) {
  settle(2);
  std::string bytes = *read_file(catalogue(2), 1 << 24);
  std::fill(bytes.begin(), bytes.begin() + 200, 'x');
  write_bytes(catalogue(2), bytes);
  const Found found = top();
  EXPECT_EQ(found.hours, "hour1 hour3 hour4");
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr(catalogue(2))));
  EXPECT_THAT(top(from_hour(3)).notes, Not(IsEmpty())) << "it is not known which times it had";
}

TEST_F(Damage, ABlockWithoutItsCatalogueIsNamed) {
  settle(1);
  std::filesystem::remove(catalogue(1));
  const Found found = top();
  EXPECT_EQ(found.hours, "hour2 hour3 hour4");
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr(catalogue(1))));
}

TEST_F(Damage, OfAllBlocksIsAnError) {
  for (int64_t number = 1; number <= 4; ++number) {
    settle(number);
    write_bytes(catalogue(number), std::string(8192, 'x'));
  }
  const auto answer = ask("top");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(answer.error().text(), HasSubstr(catalogue(4)));
}

// A reader of the file cannot see what is missing.
TEST_F(Damage, IsAnErrorWhereTheAnswerIsAnotherToolsFile) {
  std::filesystem::remove(segment(3));
  const auto answer = ask("export/pprof");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kCorrupt);
  EXPECT_TRUE(ask("export/pprof", from_hour(4))) << "nothing of that time is missing";
}

TEST_F(Damage, IsNotedByStatementsToo) {
  std::string bytes = *read_file(segment(2), 1 << 20);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(segment(2), bytes);
  const auto answer = ask("sql", {{"q", "SELECT count(DISTINCT stack) FROM samples"}});
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_THAT(std::get<SqlAnswer>(*answer).notes, Contains(HasSubstr(segment(2))));
}

// A server's snapshots follow one another: what one question found, the next ones know.
TEST_F(Damage, StaysKnown) {
  SnapshotCache cache(fleet_.path());
  const auto before = *cache.newest();
  std::string bytes = *read_file(segment(2), 1 << 20);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_bytes(segment(2), bytes);
  const auto request = *parse_top({}, 0);
  EXPECT_FALSE(query::top(request, *before)) << "this is when it is found";
  EXPECT_EQ(before->rows->damage().size(), 1);
  EXPECT_TRUE(query::top(request, *before));
  fleet_.add({.seed = 9, .from_ns = kProfileStartNs + 9 * kHourNs, .stacks = "main;hour9 9\n"});
  EXPECT_EQ((*cache.newest())->rows->damage().size(), 1);
}

}  // namespace
}  // namespace plimsoll::query::damage_test
