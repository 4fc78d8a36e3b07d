// Traces of two versions in files and in a store, as a user gives them to `plimsoll regressions`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/traces/versioned_disks.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Regressions : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_ / "versions.csv") << diagnosis::versioned_disks_table();
    std::ofstream(folder_ / "alike.csv") << diagnosis::versioned_disks_table({.is_sequential = false});
  }

  TemporaryFolder folder_;
};

TEST_F(Regressions, ReportsBucketVersionPathBottleneckAndSince) {
  const Finished found = run({"plimsoll", "regressions", folder_ / "versions.csv", "--by-hardware", "hw"});
  ASSERT_EQ(found.status, 0) << found.err;
  EXPECT_THAT(
      found.out,
      AllOf(HasSubstr("# Regressions of disk 2.1\n"), HasSubstr("**1 regression found**"),
            HasSubstr("## 1. hw=c7: median +"), HasSubstr("- version: disk 2.1, compared with 2.0\n"),
            HasSubstr("- since: 2026-11-21T07:"),
            HasSubstr("- path: api create_vm > disk create_all > disk create\n"),
            HasSubstr("sequential where it was parallel\n"), HasSubstr("| p95, ms |"),
            HasSubstr("The path column adds up to"), HasSubstr("## Buckets by hardware and workload")));
}

TEST_F(Regressions, ReportsThemAsJson) {
  const Finished found = run({"plimsoll", "regressions", folder_ / "versions.csv", "--by-hardware", "hw",
                              "--by-workload", "size", "--version", "disk:version", "--json"});
  ASSERT_EQ(found.status, 0) << found.err;
  const auto document = nlohmann::json::parse(found.out);
  ASSERT_EQ(document["regressions"].size(), 1);
  const auto& regression = document["regressions"][0];
  EXPECT_EQ(regression["bucket"], nlohmann::json({{"hw", "c7"}}));
  EXPECT_EQ(regression["version"], "2.1");
  EXPECT_LE(regression["p"], 0.01);
  EXPECT_EQ(regression["bottleneck"]["kind"], "sequential where it was parallel");
  EXPECT_EQ(regression["bottleneck"]["caller"]["method"], "create_all");
  EXPECT_EQ(regression["bottleneck"]["path"].size(), 3);
  EXPECT_GT(regression["p95_ms"]["low"], 0);
  EXPECT_EQ(regression["forest"]["new"]["calls"][2]["parent"], 1);
  EXPECT_EQ(document["buckets"].size(), 4) << "hw with size";
  EXPECT_EQ(document["hosts_are"], "hosts");
  EXPECT_EQ(document["search"]["verdict"], "found");
  EXPECT_EQ(document["search"]["min_hosts"], 3);
  EXPECT_GT(document["search"]["buckets_tested"], 5);
  EXPECT_LT(document["search"]["smallest_p"], 0.01);
}

TEST_F(Regressions, SaysThatThereIsNone) {
  const Finished found = run({"plimsoll", "regressions", folder_ / "alike.csv"});
  ASSERT_EQ(found.status, 0) << found.err;
  EXPECT_THAT(found.out, AllOf(HasSubstr("**No regression found**"), Not(HasSubstr("## 1."))));
}

// 4 hosts of disk, of which 2 run the new version.
TEST_F(Regressions, SaysThatHostsAreTooFew) {
  std::ofstream(folder_ / "few.csv") << diagnosis::versioned_disks_table({.requests = 200, .hosts = 4});
  const Finished found = run({"plimsoll", "regressions", folder_ / "few.csv"});
  ASSERT_EQ(found.status, 0) << found.err;
  EXPECT_THAT(found.out, AllOf(HasSubstr("**No answer**"), HasSubstr("No bucket has 3 hosts of each version"),
                               Not(HasSubstr("No regression found"))));
  const Finished json = run({"plimsoll", "regressions", folder_ / "few.csv", "--json"});
  ASSERT_EQ(json.status, 0) << json.err;
  const auto document = nlohmann::json::parse(json.out);
  EXPECT_EQ(document["search"]["verdict"], "too few hosts");
  EXPECT_TRUE(document["regressions"].empty());
}

TEST_F(Regressions, KeepsBarsInNamesOutOfTables) {
  std::string table = diagnosis::versioned_disks_table();
  for (size_t at = table.find(",2.1,"); at != std::string::npos; at = table.find(",2.1,", at + 1)) {
    table.replace(at, 5, ",2.1|b,");
  }
  std::ofstream(folder_ / "bars.csv") << table;
  const Finished found = run({"plimsoll", "regressions", folder_ / "bars.csv"});
  ASSERT_EQ(found.status, 0) << found.err;
  EXPECT_THAT(found.out, AllOf(HasSubstr("| 2.1\\|b | new |"), Not(HasSubstr("| 2.1|b |"))));
}

// The same report as from the file, of a data directory and of the server that has it.
TEST_F(Regressions, ReportsThemFromAStore) {
  const std::string data_dir = folder_ / "data";
  const Finished imported = run({"plimsoll", "import", "--data", data_dir, folder_ / "versions.csv"});
  ASSERT_EQ(imported.status, 0) << imported.err;
  const TestServer server(data_dir);
  ASSERT_TRUE(server.becomes_ready()) << server.process().err();
  for (const bool is_json : {false, true}) {
    std::vector<std::string> words{"plimsoll", "regressions", "--by-hardware",
                                   "hw",       "--since",     "2026-11-20T00:00:00Z"};
    if (is_json) {
      words.emplace_back("--json");
    }
    const auto with = [&](const std::vector<std::string>& more) {
      std::vector<std::string> all = words;
      all.insert(all.end(), more.begin(), more.end());
      Finished finished = run(all);
      EXPECT_EQ(finished.status, 0) << finished.err;
      return finished.out;
    };
    const std::string of_file = with({folder_ / "versions.csv"});
    EXPECT_THAT(of_file, HasSubstr("sequential where it was parallel"));
    EXPECT_EQ(with({"--data", data_dir}), of_file);
    EXPECT_EQ(with({"--server", server.address()}), of_file);
  }
  const Finished none =
      run({"plimsoll", "regressions", "--server", server.address(), "--until", "2026-11-20T00:00:00Z"});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("no request in"));
}

TEST_F(Regressions, ExplainsWhatIsMissing) {
  const Finished attribute =
      run({"plimsoll", "regressions", folder_ / "versions.csv", "--by-hardware", "hv"});
  EXPECT_EQ(attribute.status, 1);
  EXPECT_THAT(attribute.err, AllOf(HasSubstr("no span has the attribute hv"), HasSubstr("did you mean hw?")));
  const Finished version =
      run({"plimsoll", "regressions", folder_ / "versions.csv", "--version", "api:version"});
  EXPECT_EQ(version.status, 1);
  EXPECT_THAT(version.err, AllOf(HasSubstr("two versions are needed"), HasSubstr("--version ATTRIBUTE")));
}

}  // namespace
}  // namespace plimsoll::testing
