// Which binaries were added, and which sampled ones lack names.
#include "query/operations/binaries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hex.h"
#include "query/operations/build_uses.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query::binaries_test {
namespace {

using symbolizer::BinaryKind;
using symbolizer::BinaryRecord;
using symbolizer::KeptFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::string kSearch = "search's build ID of 20";
const std::string kLibz = "libz's build ID";

wire::Binary binary(const std::string& identity, const std::string& path) {
  wire::Binary made;
  made.set_identity_kind(wire::GNU_BUILD_ID);
  made.set_identity(identity);
  made.set_path(path);
  return made;
}

BinaryRecord record(const std::string& build_id, std::vector<KeptFile> files) {
  BinaryRecord made{.build_id = build_id};
  for (KeptFile& file : files) {
    made.set(std::move(file));
  }
  return made;
}

// "path kept command" by row.
std::vector<std::string> lines_of(const Result<Table>& table) {
  EXPECT_TRUE(table) << table.error().text();
  std::vector<std::string> lines;
  for (const auto& row : table ? table->rows : std::vector<std::vector<Value>>()) {
    const auto text = [&](std::string_view column) {
      return std::get<std::string>(row[column_of(*table, column)]);
    };
    lines.push_back(fmt::format("{} {:.2f} [{}] {}", text("binary"),
                                std::get<double>(row[column_of(*table, "share")]), text("kept"),
                                text("command")));
  }
  return lines;
}

class MissingBinariesTest : public ::testing::Test {
 protected:
  MissingBinariesTest() {
    wire::RawProfile profile = make_profile({.stacks = "main;work 10\n"});
    add_sample(profile, binary(kLibz, "/lib/libz.so.1"), wire::ELF, 0x10, 20);
    add_sample(profile, binary(kSearch, "/srv/search"), wire::ELF, 0x20, 40);
    add_sample(profile, binary(kSearch, "/srv/search"), wire::ELF, 0x30, 30);
    fleet_.add(profile);
  }

  Result<Table> ask(const std::vector<BinaryRecord>& records, const Parameters& parameters = {}) const {
    const auto request = parse_missing_binaries(parameters, 0);
    return request ? missing_binaries(*request, records, **Snapshot::load(fleet_.path()))
                   : Result<Table>(propagate(request));
  }

  Fleet fleet_;
};

TEST_F(MissingBinariesTest, AreRankedByTheSamplesThatWouldGetNames) {
  EXPECT_THAT(lines_of(ask({})),
              ElementsAre("search 0.70 [nothing] plimsoll binaries add /srv/search",
                          "libz.so.1 0.20 [nothing] plimsoll binaries add /lib/libz.so.1"));
  EXPECT_THAT(lines_of(ask({}, {{"limit", "1"}})), ElementsAre(StartsWith("search")));
}

TEST_F(MissingBinariesTest, AStrippedBinaryThatIsKeptWantsItsDebugFile) {
  const std::vector<BinaryRecord> records{
      record(kSearch + " that perf has cut", {}),
      record(kLibz, {{.kind = BinaryKind::kExecutable, .quality = store::SymbolQuality::kDynsym}})};
  const auto lines = lines_of(ask(records));
  ASSERT_EQ(lines.size(), 2);
  EXPECT_THAT(lines[1], HasSubstr("[executable (dynsym)] plimsoll binaries add libz.so.1.debug"));
}

TEST_F(MissingBinariesTest, CommandsRunNothingThatAMachineReports) {
  wire::RawProfile profile = make_profile({.seed = 2, .stacks = "main;work 10\n"});
  add_sample(profile, binary("a hostile build ID", "/srv/it's; rm -rf $HOME"), wire::ELF, 0x10, 1000);
  fleet_.add(profile);
  EXPECT_THAT(lines_of(ask({})).at(0),
              HasSubstr(R"([nothing] plimsoll binaries add '/srv/it'\''s; rm -rf $HOME')"));
  const std::vector<BinaryRecord> records{record("a hostile build ID", {{.kind = BinaryKind::kExecutable}})};
  EXPECT_THAT(lines_of(ask(records)).at(0),
              HasSubstr(R"(plimsoll binaries add 'it'\''s; rm -rf $HOME.debug')"));
}

TEST_F(MissingBinariesTest, RefusesOddParameters) {
  EXPECT_FALSE(ask({}, {{"limit", "0"}}));
  EXPECT_FALSE(ask({}, {{"colour", "red"}}));
}

Result<Table> list(const BinariesRequest& request, const std::vector<BinaryRecord>& records) {
  const auto found = find_binaries(request, records);
  return found ? Result<Table>(binaries(*found, {})) : propagate(found);
}

TEST(BinariesView, ListsFilesTheNewestBuildFirst) {
  const std::vector<BinaryRecord> records{
      record(kLibz, {{.kind = BinaryKind::kDebug, .quality = store::SymbolQuality::kFull, .added_ns = 1}}),
      record(kSearch, {{.kind = BinaryKind::kExecutable, .added_ns = 2, .source = "alice: search"},
                       {.kind = BinaryKind::kDebug, .added_ns = 3}})};
  const auto table = list({}, records);
  ASSERT_TRUE(table) << table.error().text();
  ASSERT_EQ(table->rows.size(), 3);
  EXPECT_EQ(table->rows[0][0], Value(to_hex(kSearch)));
  EXPECT_EQ(table->rows[0][1], Value("executable"));
  EXPECT_EQ(table->rows[0][column_of(*table, "source")], Value("alice: search"));
  EXPECT_EQ(table->rows[1][1], Value("debug"));
  EXPECT_EQ(table->rows[2][2], Value("full DWARF"));
  EXPECT_THAT(list({.limit = 1}, records)->notes, ElementsAre("showing 1 of 2 builds"));

  const auto one = list({.build_id = to_hex(kLibz).substr(0, 6)}, records);
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_EQ(one->rows.size(), 1);
  const auto none = list({.build_id = "00"}, records);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(list({}, {})->rows, IsEmpty());
  EXPECT_FALSE(parse_binaries({{"build_id", "XYZ"}}, 0));
}

TEST(BinariesView, FindsABuildByTheHashOfOneOfItsFiles) {
  const std::string hash = "sixteen bytes of";
  const std::vector<BinaryRecord> records{
      record(kLibz, {{.kind = BinaryKind::kDebug, .htl_hash = "another file's.."}}),
      record(kSearch, {{.kind = BinaryKind::kExecutable}, {.kind = BinaryKind::kDebug, .htl_hash = hash}})};
  const auto found = find_binaries({.build_id = to_hex(hash)}, records);
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ(found->records.size(), 1);
  EXPECT_EQ(found->records[0].build_id, kSearch);
  EXPECT_FALSE(find_binaries({.build_id = to_hex(hash).substr(0, 10)}, records)) << "a hash is given whole";
}

// Of an hour, with samples in the code of search alone, and where it is called.
wire::RawProfile profile_of(uint64_t seed, const std::string& job, int64_t from_ns, uint64_t samples) {
  auto profile = make_profile({.seed = seed, .from_ns = from_ns, .job = job, .stacks = "main;work 10\n"});
  add_sample(profile, binary(kSearch, "/srv/search"), wire::ELF, 0x10, samples);
  return profile;
}

TEST(BinariesView, TellsWhichJobsUseABuildAndWhenItWasSeenLast) {
  constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;
  Fleet fleet;
  fleet.add(profile_of(1, "rare", kProfileStartNs, 1));
  fleet.add(profile_of(2, "often", kProfileStartNs + kHourNs, 100));
  fleet.add(profile_of(3, "often", kProfileStartNs + 5 * kHourNs, 100));
  const std::vector<BinaryRecord> records{
      record(kSearch + " that perf has cut", {{.kind = BinaryKind::kExecutable}}),
      record(kLibz, {{.kind = BinaryKind::kExecutable}})};
  const auto snapshot = *Snapshot::load(fleet.path());
  const auto uses = uses_of_builds(records, *snapshot, 0);
  ASSERT_TRUE(uses) << uses.error().text();
  ASSERT_EQ(uses->size(), 1) << "no samples are in libz";
  EXPECT_THAT(uses->begin()->second.jobs, ElementsAre("often", "rare"));
  EXPECT_EQ(uses->begin()->second.last_seen_ns, kProfileStartNs + 5 * kHourNs + ProfileSpec().length_ns);

  const auto newer = uses_of_builds(records, *snapshot, kProfileStartNs + kHourNs);
  ASSERT_TRUE(newer) << newer.error().text();
  EXPECT_THAT(newer->at(records[0].build_id).jobs, ElementsAre("often"));
  EXPECT_THAT(*uses_of_builds(records, *snapshot, kProfileStartNs + 6 * kHourNs), IsEmpty());

  const auto found = *find_binaries({}, records);
  const Table table = binaries(found, *uses);
  ASSERT_EQ(table.rows.size(), 2);
  const size_t of_search = table.rows[0][0] == Value(to_hex(records[0].build_id)) ? 0 : 1;
  EXPECT_EQ(table.rows[of_search][column_of(table, "jobs")], Value("often, rare"));
  EXPECT_EQ(table.rows[1 - of_search][column_of(table, "jobs")], Value(""));
  EXPECT_EQ(table.rows[1 - of_search][column_of(table, "last_seen")], Value(""));
}

// A hit of a heap is a byte: a thousand million of them are two samples.
TEST(BinariesView, JobsAreInTheOrderOfTheirSamplesWhateverHitsAre) {
  Fleet fleet;
  fleet.add(profile_of(1, "burns", kProfileStartNs, 100));
  wire::RawProfile heap =
      make_profile({.seed = 2,
                    .events = {{.name = "heap-inuse-bytes", .unit = wire::BYTES, .kind = wire::SNAPSHOT}},
                    .job = "holds",
                    .stacks = "main;work 10\n"});
  heap.mutable_assignment()->set_id("scrape:server/heap");
  add_sample(heap, binary(kSearch, "/srv/search"), wire::ELF, 0x10, 1'000'000'000);
  heap.mutable_events(0)->set_samples(2);
  fleet.add(heap);
  const std::vector<BinaryRecord> records{record(kSearch, {{.kind = BinaryKind::kExecutable}})};
  const auto uses = uses_of_builds(records, **Snapshot::load(fleet.path()), 0);
  ASSERT_TRUE(uses) << uses.error().text();
  ASSERT_EQ(uses->size(), 1);
  EXPECT_THAT(uses->begin()->second.jobs, ElementsAre("burns", "holds"));
}

TEST(BinariesView, TellsHowManyUnitsLibdwHasRead) {
  const auto found = *find_binaries({}, {record(kLibz, {{.kind = BinaryKind::kDebug}})});
  const Table table = binaries(found, {{kLibz, {.libdw_units = 3}}});
  EXPECT_EQ(table.rows.at(0)[column_of(table, "libdw_units")], Value(int64_t{3}));
  EXPECT_EQ(binaries(found, {}).rows.at(0)[column_of(table, "libdw_units")], Value());
}

}  // namespace
}  // namespace plimsoll::query::binaries_test
