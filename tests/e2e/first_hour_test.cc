// docs/first-hour.md: every command that it shows is run, and must print what it shows.
// See tests/e2e/shown_commands.h.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "proto/profile_codec.h"
#include "tests/e2e/program.h"
#include "tests/e2e/shown_commands.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

constexpr int64_t kStartNs = 1'795'600'800'000'000'000;  // 2026-11-25T10:00:00Z
constexpr int64_t kMinuteNs = 60'000'000'000;
constexpr int kMachines = 24;

TEST(ShownCommands, AreComparedLineByLine) {
  const std::vector<std::string> real{"a", "b", "c", "b", "d"};
  EXPECT_TRUE(matches({"a", "b", "c", "b", "d"}, real));
  EXPECT_TRUE(matches({"a", "...", "b", "d"}, real));
  EXPECT_TRUE(matches({"a", "...", "c", "..."}, real));
  EXPECT_TRUE(matches({"..."}, real));
  EXPECT_FALSE(matches({"a", "b"}, real)) << "lines are missing without \"...\"";
  EXPECT_FALSE(matches({"a", "...", "x", "..."}, real));
  EXPECT_FALSE(matches({"a", "...", "c"}, real));
  EXPECT_FALSE(matches({}, real));
}

wire::Binary binary(const std::string& path, const std::string& build_id) {
  wire::Binary made;
  made.set_identity_kind(wire::GNU_BUILD_ID);
  made.set_identity(build_id);
  made.set_path(path);
  return made;
}

// A job of an online shop on one machine: half of the machines run revision 42 of search, which normalizes words.
wire::RawProfile cpu_profile(const std::string& job, int machine) {
  const bool is_new = machine % 2 == 1;
  const auto hits = [machine](int base) { return std::to_string(base + machine * 7 % 5); };
  std::string stacks;
  if (job == "search") {
    stacks = "process=searchd main;serve;parse_query;tokenize " + hits(300) +
             "\nprocess=searchd main;serve;rank;score " + hits(400) +
             "\nprocess=searchd main;serve;rank;copy_row;memcpy " + hits(100) +
             "\nprocess=searchd main;serve;respond;compress;deflate " + hits(150) + "\n";
    stacks += is_new ? "process=searchd main;serve;parse_query;normalize " + hits(120) + "\n" : "";
  } else {
    stacks = "process=webd main;handle;render;escape_html " + hits(350) +
             "\nprocess=webd main;handle;render;append;memcpy " + hits(200) +
             "\nprocess=webd main;handle;respond;compress;deflate " + hits(250) + "\n";
  }
  wire::RawProfile profile =
      make_profile({.seed = static_cast<uint64_t>(machine * 10 + (job == "web" ? 1 : 2)),
                    .machine = fmt::format("m{:02}", machine),
                    .from_ns = kStartNs,
                    .length_ns = kMinuteNs,
                    .events = {{.name = "cycles", .scale = 1e7}},
                    .job = job,
                    .stacks = stacks});
  profile.mutable_machine()->set_platform(machine % 3 == 0 ? "AMD Zen 4" : "Intel Skylake");
  if (job == "web") {
    add_sample(profile, binary("/opt/shop/lib/libimage.so.2", "libimage's build"), wire::ELF, 0x1000, 60);
  }
  wire::Binary main = binary(job == "search" ? "/opt/shop/bin/searchd" : "/opt/shop/bin/webd",
                             job + (is_new ? " revision 42" : " revision 41"));
  main.set_revision(is_new ? "42" : "41");
  *profile.add_binaries() = main;
  for (wire::Process& process : *profile.mutable_processes()) {
    process.set_binary_plus_1(static_cast<uint32_t>(profile.binaries_size()));
  }
  return profile;
}

wire::RawProfile heap_profile(int machine) {
  return make_profile(
      {.seed = static_cast<uint64_t>(1000 + machine),
       .machine = fmt::format("m{:02}", machine),
       .from_ns = kStartNs,
       .length_ns = kMinuteNs,
       .events = {{.name = "heap-inuse-bytes", .scale = 65536, .unit = wire::BYTES, .kind = wire::SNAPSHOT}},
       .job = "search",
       .stacks = "process=searchd main;load_index;read_block 900\n"
                 "process=searchd main;serve;rank;new_heap 80\n"
                 "process=searchd main;serve;parse_query;tokenize 20\n"});
}

class FirstHour : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> import{"plimsoll", "import", "--data", folder_ / "profiles"};
    for (int machine = 1; machine <= kMachines; ++machine) {
      for (const wire::RawProfile& profile :
           {cpu_profile("search", machine), cpu_profile("web", machine), heap_profile(machine)}) {
        import.push_back(folder_ / fmt::format("{}.profile", import.size()));
        std::ofstream(import.back(), std::ios::binary) << wire::encode(profile);
      }
    }
    const Finished imported = run(import);
    ASSERT_EQ(imported.status, 0) << imported.err;
  }

  TemporaryFolder folder_;
};

TEST_F(FirstHour, PrintsWhatItsDocumentShows) {
  const std::vector<Shown> all = shown_in(read_document("docs/first-hour.md"));
  EXPECT_GE(all.size(), 7U) << "a command for each task";
  for (const Shown& shown : all) {
    const Finished finished = run_as_shown(shown.command, folder_.path());
    EXPECT_EQ(finished.status, 0) << shown.command << "\n" << finished.err;
    EXPECT_TRUE(matches(shown.lines, lines_of(finished.out)))
        << "docs/first-hour.md shows another output of\n$ " << shown.command << "\n"
        << finished.out;
  }
}

}  // namespace
}  // namespace plimsoll::testing
