// What the rows of a store say of one binary.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <tuple>

#include "base/hex.h"
#include "base/time.h"
#include "query/fdo/counts/count_binary.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::fdo {
namespace {

using query::Fleet;
using query::Snapshot;
using ::testing::HasSubstr;

const std::string kSearchId = "\x4f\x5a\x11\x22\x33\x44\x55\x66";
const std::string kOtherId = "\x4f\xff\x11\x22\x33\x44\x55\x66";

wire::Binary binary_of(const std::string& build_id, const std::string& path) {
  wire::Binary binary;
  binary.set_identity_kind(wire::GNU_BUILD_ID);
  binary.set_identity(build_id);
  binary.set_path(path);
  return binary;
}

const wire::Binary kSearch = binary_of(kSearchId, "/srv/search");
const wire::Binary kOther = binary_of(kOtherId, "/srv/other");

wire::RawProfile profile_of(uint64_t seed, const std::string& machine) {
  return testing::make_profile({.seed = seed, .machine = machine, .stacks = "main;work 1\n"});
}

wire::BranchTable& table_of(const std::string& event_name, wire::RawProfile& profile) {
  for (wire::BranchTable& table : *profile.mutable_branches()) {
    if (profile.events(static_cast<int>(table.event())).name() == event_name) {
      return table;
    }
  }
  wire::Event& event = *profile.add_events();
  event.set_name(event_name);
  event.set_unit(wire::COUNT);
  event.set_kind(wire::DELTA);
  wire::BranchTable& table = *profile.add_branches();
  table.set_event(static_cast<uint32_t>(profile.events_size() - 1));
  return table;
}

// A pair of addresses in the binary of the profile's last locations.
void add_pair(const std::string& event_name, uint64_t from, uint64_t to, uint64_t hits,
              wire::RawProfile& profile, wire::LocationKind kind = wire::ELF) {
  wire::BranchTable& table = table_of(event_name, profile);
  wire::Locations& locations = *profile.mutable_locations();
  for (const uint64_t address : {from, to}) {
    locations.add_kind(kind);
    locations.add_owner(static_cast<uint32_t>(profile.binaries_size() - 1));
    locations.add_address(address);
  }
  const auto last = static_cast<uint32_t>(locations.kind_size() - 1);
  table.add_thread(0);
  table.add_from_location(last - 1);
  table.add_to_location(last);
  table.add_hits(hits);
  wire::Event& event = *profile.mutable_events(static_cast<int>(table.event()));
  event.set_hits(event.hits() + hits);
  event.set_counter_total(static_cast<double>(event.hits()));
}

void add_branch(wire::RawProfile& profile, uint64_t from, uint64_t to, uint64_t hits) {
  add_pair("branch-records", from, to, hits, profile);
}

Result<BinaryCounts> counts_of(const Fleet& fleet, const query::Parameters& parameters) {
  const auto request = parse_counts(parameters, 0);
  if (!request) {
    return propagate(request);
  }
  const auto snapshot = Snapshot::load(fleet.path());
  return snapshot ? count_binary(*request, **snapshot) : propagate(snapshot);
}

// A line for the binary, and one for each sample, branch and call: "sample 0x10 5 5".
std::string brief(const Result<BinaryCounts>& counts) {
  if (!counts) {
    return counts.error().text();
  }
  std::string text = fmt::format("{} {} {} {} elsewhere {} machines {}\n", counts->build_id, counts->path,
                                 counts->event, counts->value, counts->value_elsewhere, counts->machines);
  for (const AddressSamples& at : counts->addresses) {
    text += fmt::format("sample {:#x} {} {}\n", at.address, at.value, at.samples);
  }
  for (const AddressSamples& at : counts->offsets) {
    text += fmt::format("offset {:#x} {} {}\n", at.address, at.value, at.samples);
  }
  for (const AddressPair& pair : counts->branches) {
    text += fmt::format("branch {:#x} {:#x} {} {}\n", pair.from, pair.to, pair.value, pair.samples);
  }
  for (const AddressPair& pair : counts->ranges) {
    text += fmt::format("range {:#x} {:#x} {} {}\n", pair.from, pair.to, pair.value, pair.samples);
  }
  for (const AddressPair& pair : counts->offset_ranges) {
    text += fmt::format("range offset {:#x} {:#x} {} {}\n", pair.from, pair.to, pair.value, pair.samples);
  }
  return text;
}

TEST(BinaryCounts, AreTheSelfValuesOfTheBinaryByAddress) {
  Fleet fleet;
  for (const auto& [seed, machine] : {std::pair(1, "m1"), std::pair(2, "m2")}) {
    wire::RawProfile profile = profile_of(static_cast<uint64_t>(seed), machine);
    testing::add_sample(profile, kSearch, wire::ELF, 0x1136, 3);
    testing::add_sample(profile, kSearch, wire::ELF, 0x1000, 2);
    testing::add_sample(profile, kOther, wire::ELF, 0x1136, 7);
    fleet.add(profile);
  }
  EXPECT_EQ(brief(counts_of(fleet, {{"build_id", "4f5a112233445566"}})),
            "4f5a112233445566 /srv/search cycles 10 elsewhere 16 machines 2\n"
            "sample 0x1000 4 4\n"
            "sample 0x1136 6 6\n");
  EXPECT_EQ(brief(counts_of(fleet, {{"build_id", "4F5A"}, {"where", "machine=m1"}})),
            "4f5a112233445566 /srv/search cycles 5 elsewhere 8 machines 1\n"
            "sample 0x1000 2 2\n"
            "sample 0x1136 3 3\n");
}

// Three samples of one hour, and one of ten hours later.
TEST(BinaryCounts, SayWhenTheSamplesWereTakenOnTheMean) {
  Fleet fleet;
  const int64_t from_ns = query::kProfileStartNs / kNsPerHour * kNsPerHour;
  for (const auto& [seed, hour, hits] : {std::tuple(1, 0, 3), std::tuple(2, 10, 1)}) {
    wire::RawProfile profile = testing::make_profile({.seed = static_cast<uint64_t>(seed),
                                                      .machine = "m1",
                                                      .from_ns = from_ns + hour * kNsPerHour,
                                                      .stacks = "main;work 100\n"});
    testing::add_sample(profile, kSearch, wire::ELF, 0x1136, static_cast<uint64_t>(hits));
    fleet.add(profile);
  }
  const auto counts = counts_of(fleet, {{"build_id", "4f5a"}});
  ASSERT_TRUE(counts) << counts.error().text();
  EXPECT_EQ((counts->mean_time_ns - from_ns) / kNsPerHour, 3) << "a quarter of ten hours, rounded";
  const auto read = counts_from(counts_table(*counts));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->mean_time_ns, counts->mean_time_ns);
}

TEST(BinaryCounts, AreWeighted) {
  Fleet fleet;
  wire::RawProfile profile = profile_of(1, "m1");
  testing::add_sample(profile, kSearch, wire::ELF, 0x1136, 3);
  profile.mutable_assignment()->mutable_draw()->set_id("nightly");
  profile.mutable_assignment()->mutable_draw()->set_inclusion_probability(0.25);
  fleet.add(profile);
  const auto counts = counts_of(fleet, {{"build_id", "4f"}});
  EXPECT_EQ(brief(counts),
            "4f5a112233445566 /srv/search cycles 12 elsewhere 4 machines 1\n"
            "sample 0x1136 12 3\n");
  EXPECT_EQ(counts->draws, 1);
}

TEST(BinaryCounts, OneHalfOfTheMachinesIsApart) {
  Fleet fleet;
  for (uint64_t machine = 1; machine <= 6; ++machine) {
    wire::RawProfile profile = profile_of(machine, "m" + std::to_string(machine));
    testing::add_sample(profile, kSearch, wire::ELF, 0x1136, machine == 1 ? 100 : 10);
    fleet.add(profile);
  }
  const auto counts = counts_of(fleet, {{"build_id", "4f5a"}});
  ASSERT_TRUE(counts) << counts.error().text();
  ASSERT_EQ(counts->addresses.size(), 1);
  EXPECT_EQ(counts->value, 150);
  // Three machines, with the large one or without it.
  EXPECT_TRUE(counts->value_of_half == 30 || counts->value_of_half == 120) << counts->value_of_half;
  EXPECT_EQ(counts->addresses[0].value_of_half, counts->value_of_half);
}

TEST(BinaryCounts, BranchesOfOtherProfilesStandBesideSamples) {
  Fleet fleet;
  wire::RawProfile profile = profile_of(1, "m1");
  testing::add_sample(profile, kSearch, wire::ELF, 0x1136, 3);
  add_branch(profile, 0x1140, 0x1100, 9);
  testing::add_sample(profile, kOther, wire::ELF, 0x1, 1);
  add_branch(profile, 0x1150, 0x1, 5);
  fleet.add(profile);
  EXPECT_EQ(brief(counts_of(fleet, {{"build_id", "4f5a"}})),
            "4f5a112233445566 /srv/search cycles 3 elsewhere 2 machines 1\n"
            "sample 0x1136 3 3\n"
            "branch 0x1140 0x1100 9 9\n");
  EXPECT_EQ(brief(counts_of(fleet, {{"build_id", "4f5a"}, {"event", "branch-records"}})),
            "4f5a112233445566 /srv/search branch-records 9 elsewhere 5 machines 1\n"
            "branch 0x1140 0x1100 9 9\n");
}

TEST(BinaryCounts, CodeBetweenBranchesIsReadBesideThem) {
  Fleet fleet;
  wire::RawProfile profile = profile_of(1, "m1");
  testing::add_sample(profile, kSearch, wire::ELF, 0x1136, 3);
  add_pair("branch-records", 0x1140, 0x1100, 9, profile);
  add_pair("branch-ranges", 0x1100, 0x1140, 8, profile);
  fleet.add(profile);
  EXPECT_EQ(brief(counts_of(fleet, {{"build_id", "4f5a"}})),
            "4f5a112233445566 /srv/search cycles 3 elsewhere 1 machines 1\n"
            "sample 0x1136 3 3\n"
            "branch 0x1140 0x1100 9 9\n"
            "range 0x1100 0x1140 8 8\n");
  EXPECT_THAT(brief(counts_of(fleet, {{"build_id", "4f5a"}, {"event", "branch-ranges"}})),
              HasSubstr("branch-ranges are pairs of addresses, and no samples"));
}

// An ELF file of headers alone: its segment has file offset 0x100 at address 0x1100.
std::string elf_headers() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_R | PF_X;
  segment.p_offset = 0x100;
  segment.p_filesz = 0x80;
  segment.p_vaddr = 0x1100;
  segment.p_memsz = 0x80;
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file.append(reinterpret_cast<const char*>(&segment), sizeof segment);
  return file;
}

TEST(BinaryCounts, RangesByFileOffsetBecomeAddresses) {
  const std::string file = elf_headers();
  const auto binary = elf::ElfFile::parse(as_bytes(file));
  ASSERT_TRUE(binary) << binary.error().text();
  BinaryCounts counts{.build_id = "4f5a", .event = "cycles"};
  counts.ranges = {{.from = 0x1104, .to = 0x1108, .value = 1, .samples = 1}};
  counts.offset_ranges = {{.from = 0x104, .to = 0x108, .value = 2, .samples = 2},
                          {.from = 0x104, .to = 0x1000, .value = 4, .samples = 4}};
  to_addresses(counts, *binary);
  ASSERT_EQ(counts.ranges.size(), 1);
  EXPECT_EQ(counts.ranges[0].from, 0x1104);
  EXPECT_EQ(counts.ranges[0].to, 0x1108);
  EXPECT_EQ(counts.ranges[0].value, 3);
  EXPECT_TRUE(counts.offset_ranges.empty());
}

TEST(BinaryCounts, SurviveTheWayOverTheNetwork) {
  Fleet fleet;
  wire::RawProfile profile = profile_of(1, "m1");
  testing::add_sample(profile, kSearch, wire::ELF, 0xfffffffffffff000, 3);
  testing::add_sample(profile, kSearch, wire::ELF_FILE_OFFSET, 0x136, 2);
  add_branch(profile, 0x1140, 0x1100, 9);
  add_pair("branch-ranges", 0x1100, 0x1140, 8, profile);
  add_pair("branch-ranges", 0x100, 0x140, 7, profile, wire::ELF_FILE_OFFSET);
  fleet.add(profile);
  const auto counts = counts_of(fleet, {{"build_id", "4f5a"}});
  ASSERT_TRUE(counts) << counts.error().text();
  const auto table = query::from_json(query::to_json(counts_table(*counts)));
  ASSERT_TRUE(table) << table.error().text();
  const auto read = counts_from(*table);
  EXPECT_EQ(brief(read), brief(counts));
  EXPECT_EQ(brief(read),
            "4f5a112233445566 /srv/search cycles 5 elsewhere 1 machines 1\n"
            "sample 0xfffffffffffff000 3 3\n"
            "offset 0x136 2 2\n"
            "branch 0x1140 0x1100 9 9\n"
            "range 0x1100 0x1140 8 8\n"
            "range offset 0x100 0x140 7 7\n");
  EXPECT_EQ(read->unit, counts->unit);
  EXPECT_EQ(read->coverage.to_ns, counts->coverage.to_ns);
}

TEST(BinaryCounts, ATableOfSomethingElseIsRefused) {
  query::Table table;
  EXPECT_FALSE(counts_from(table));
  table = counts_table({.build_id = "4f5a", .event = "cycles", .unit = "count"});
  ASSERT_TRUE(counts_from(table));
  table.rows.push_back({std::string("sample"), std::string("0x12q"), {}, 1.0, 1.0, 0.0, {}, {}});
  EXPECT_THAT(counts_from(table).error().text(), HasSubstr("\"0x12q\" is no hexadecimal address"));
  table.rows.back() = {std::string("sample"), std::string("0x12"), {}, 1e300, 1.0, 0.0, {}, {}};
  EXPECT_THAT(counts_from(table).error().text(),
              HasSubstr("the count 1e+300 of sample 0x12 is more than can be"));
}

TEST(BinaryCounts, OfAnotherBuildAreRefused) {
  const std::string whole(64, 'a');
  const auto checked = [&](const std::string& answered) {
    return check_build_id({.build_id = answered}, whole).has_value();
  };
  EXPECT_TRUE(checked(whole));
  EXPECT_TRUE(checked(std::string(40, 'a'))) << "perf cuts build IDs after 20 bytes";
  EXPECT_FALSE(checked(std::string(39, 'a')));
  EXPECT_FALSE(checked(std::string(40, 'b')));
  EXPECT_FALSE(checked(whole + "aa"));
}

TEST(BinaryCounts, AnIdThatPerfCutIsTheSameBuild) {
  const std::string whole(32, '\x4f');
  Fleet fleet;
  wire::RawProfile profile = profile_of(1, "m1");
  testing::add_sample(profile, binary_of(whole, "/srv/search"), wire::ELF, 0x1136, 3);
  testing::add_sample(profile, binary_of(whole.substr(0, 20), "/srv/search"), wire::ELF, 0x1136, 4);
  fleet.add(profile);
  for (const size_t digits : {64, 44, 40, 2}) {
    const auto counts = counts_of(fleet, {{"build_id", to_hex(whole).substr(0, digits)}});
    ASSERT_TRUE(counts) << counts.error().text();
    EXPECT_EQ(counts->build_id, to_hex(whole));
    EXPECT_EQ(counts->value, 7);
  }
}

TEST(BinaryCounts, ErrorsSayWhichBinariesThereAre) {
  Fleet fleet;
  wire::RawProfile profile = profile_of(1, "m1");
  testing::add_sample(profile, kSearch, wire::ELF, 0x1136, 3);
  testing::add_sample(profile, kOther, wire::ELF, 0x1136, 6);
  fleet.add(profile);
  EXPECT_EQ(
      brief(counts_of(fleet, {{"build_id", "abcd"}})),
      "no profile has samples of a binary with build ID abcd; the most sampled binaries are other (build ID "
      "4fff112233445566, 60.0 %), search (build ID 4f5a112233445566, 30.0 %)");
  EXPECT_THAT(brief(counts_of(fleet, {{"build_id", "4f"}})),
              HasSubstr("2 build IDs begin with 4f: 4f5a112233445566, 4fff112233445566"));
  EXPECT_THAT(brief(counts_of(fleet, {{"build_id", "search"}})),
              HasSubstr("\"search\" is not a build ID in hexadecimal digits"));
  EXPECT_THAT(brief(counts_of(fleet, {{"build_id", "4f5a"}, {"where", "machine=m2"}})),
              HasSubstr("the selection has no cycles samples in the binary with build ID 4f5a112233445566"));
  EXPECT_THAT(brief(counts_of(fleet, {{"build_id", "4f5a"}, {"focus", "main"}})),
              HasSubstr("unknown parameter \"focus\""));
}

}  // namespace
}  // namespace plimsoll::fdo
