// Recordings that `perf record` makes here, imported: beside what `perf script` and `perf report` make of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/durable_file.h"
#include "formats/perf_data/import_recording.h"
#include "query/table/table.h"
#include "tests/e2e/perf_script.h"
#include "tests/e2e/program.h"
#include "tests/places.h"
#include "tests/unit/formats/perf_data/recording_bytes.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

Finished shell(const std::string& command) {
  return run({"/bin/sh", "-c", command});
}

class PerfData : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
    if (shell("command -v perf >/dev/null").status != 0) {
      GTEST_SKIP() << "there is no perf";
    }
  }

  // -B: perf 6.1 of Debian 12 may crash where it reads build IDs of files, or write wrong ones. `more` are its other options.
  std::string record(const std::string& more, const std::string& command) const {
    const std::string path = folder_ / "perf.data";
    const std::string perf = perf_ + "record -q -B -e cpu-clock:u -F 997 ";
    const bool is_pipe = more.ends_with("-o -");
    // In a pipe the command's own output would stand among the records.
    const Finished recorded =
        shell(is_pipe ? perf + more + " -- sh -c '" + command + " >/dev/null' | cat >" + path
                      : perf + "-o " + path + " " + more + " -- " + command);
    EXPECT_EQ(recorded.status, 0) << recorded.err;
    return path;
  }

  std::vector<nlohmann::json> import(const std::string& path) const {
    const Finished imported = run({"plimsoll", "import", "--data", folder_ / "data", "--symbol-root",
                                   built_file(), "--symbol-root", "/usr", "--json", path});
    EXPECT_EQ(imported.status, 0) << imported.err;
    EXPECT_EQ(imported.err, "") << "nothing to remark on";
    const auto document = nlohmann::json::parse(imported.out);
    return {document["rows"].begin(), document["rows"].end()};
  }

  query::Table top(const std::string& event) const {
    const Finished asked =
        run({"plimsoll", "top", "--data", folder_ / "data", "--event", event, "--limit", "100", "--json"});
    EXPECT_EQ(asked.status, 0) << asked.err;
    const auto table = query::from_json(asked.out);
    EXPECT_TRUE(table.has_value());
    return table ? *table : query::Table();
  }

  int samples_of_perf(const std::string& path) const {
    return std::stoi(shell(perf_ + "script -F tid -i " + path + " | grep -cE '^ *[0-9]+ *$'").out);
  }

  // Percent of samples by function.
  std::map<std::string, double> shares_of_perf(const std::string& path) const {
    std::map<std::string, double> shares;
    std::istringstream lines(
        shell(perf_ + "report --no-children -g none --stdio -F overhead,sym -i " + path + " 2>/dev/null")
            .out);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      double percent = 0;
      char sign = 0;
      std::string mode;
      std::string symbol;
      if (words >> percent >> sign >> mode >> symbol && sign == '%') {
        shares[symbol] = percent;
      }
    }
    return shares;
  }

  static double share_of(const query::Table& table, const std::string& function) {
    for (const auto& row : table.rows) {
      if (std::get<std::string>(row[0]) == function) {
        return std::get<double>(row[2]) * 100;
      }
    }
    return 0;
  }

  TemporaryFolder folder_;
  // With a cache of files of its own: others on this machine may write to the common one.
  const std::string perf_ = "perf --buildid-dir " + (folder_ / "cache") + " ";
};

struct Mode {
  std::string name;
  std::string options;
};

void PrintTo(const Mode& mode, std::ostream* stream) {
  *stream << mode.name;
}

class EachMode : public PerfData, public ::testing::WithParamInterface<Mode> {};

TEST_P(EachMode, HasTheSamplesAndSharesThatPerfTells) {
  const std::string path = record(GetParam().options, program("known_split") + " 2 work");
  const auto events = import(path);
  ASSERT_EQ(events.size(), 1);
  EXPECT_THAT(events[0]["event"], HasSubstr("cpu-clock"));
  EXPECT_EQ(events[0]["samples"], samples_of_perf(path));
  EXPECT_EQ(events[0]["hits"], events[0]["samples"]);
  EXPECT_EQ(events[0]["lost"], 0);
  EXPECT_EQ(events[0]["unit"], "ns");
  const auto ours = top("cpu-clock");
  auto theirs = shares_of_perf(path);
  for (const char* function : {"seventy_percent_of_work", "twenty_percent_of_work", "ten_percent_of_work"}) {
    EXPECT_GT(theirs[function], 5) << function;
    EXPECT_NEAR(share_of(ours, function), theirs[function], 0.011) << function;
  }
}

INSTANTIATE_TEST_SUITE_P(PerfRecord, EachMode,
                         ::testing::Values(Mode{"LeafOnly", "--buildid-mmap"},
                                           Mode{"FramePointers", "--buildid-mmap --call-graph fp"},
                                           Mode{"Dwarf", "--buildid-mmap --call-graph dwarf"},
                                           Mode{"Compressed", "-z --buildid-mmap --call-graph dwarf"},
                                           Mode{"Pipe", "--buildid-mmap --call-graph dwarf -o -"}),
                         [](const auto& tested) { return tested.param.name; });

TEST_F(PerfData, ThatIsCutOffIsImportedAsFarAsItGoes) {
  const std::string path = record("", program("known_split") + " 0.3 work");
  ASSERT_EQ(shell("truncate -s -3000 " + path).status, 0);
  const Finished imported = run({"plimsoll", "import", "--data", folder_ / "data", path});
  EXPECT_EQ(imported.status, 0) << imported.err;
  EXPECT_THAT(imported.err, HasSubstr("damaged: "));
  EXPECT_EQ(run({"plimsoll", "top", "--data", folder_ / "data"}).status, 0);
}

// Two programs of different speed; only the group's leader is sampled, and each sample reads both counters.
TEST(RecordedGroups, GiveInstructionsPerCycleByTwoQueries) {
  using perf_data::sample;
  const auto attr = [](uint64_t config) {
    perf_event_attr counted = perf_data::hardware_attr(config, PERF_SAMPLE_READ);
    counted.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
    return counted;
  };
  const auto counters = [](uint64_t cycles, uint64_t instructions) {
    return perf_data::bytes_of(std::array<uint64_t, 5>{2, cycles, 1, instructions, 2});
  };
  const std::string content =
      perf_data::Recording()
          .event(attr(PERF_COUNT_HW_CPU_CYCLES), {1}, "cycles")
          .event(attr(PERF_COUNT_HW_INSTRUCTIONS), {2}, "instructions")
          .records(perf_data::comm(7, "fast") + perf_data::mmap(7, 0x10000, 0x1000, 0, "/bin/fast"))
          .records(perf_data::comm(8, "slow") + perf_data::mmap(8, 0x10000, 0x1000, 0, "/bin/slow"))
          .records(sample({.time_ns = 1}, counters(1000, 3000)))
          .records(sample({.time_ns = 2, .pid = 8, .tid = 8}, counters(3000, 4000)))
          .records(sample({.time_ns = 3}, counters(4000, 7000)))
          .file();
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file_durably(folder / "perf.data", as_bytes(content)));
  ASSERT_EQ(run({"plimsoll", "import", "--data", folder / "data", folder / "perf.data"}).status, 0);
  const auto values = [&](const std::string& event) {
    std::map<std::string, double> by_app;
    const Finished asked =
        run({"plimsoll", "top", "--data", folder / "data", "--event", event, "--by", "app", "--json"});
    const auto table = query::from_json(asked.out);
    EXPECT_TRUE(table.has_value()) << asked.err;
    for (const auto& row : table ? table->rows : std::vector<std::vector<query::Value>>()) {
      by_app[std::get<std::string>(row[0])] = std::get<double>(row[1]);
    }
    return by_app;
  };
  EXPECT_EQ(values("cycles"), (std::map<std::string, double>{{"fast", 2000}, {"slow", 2000}}));
  EXPECT_EQ(values("instructions"), (std::map<std::string, double>{{"fast", 6000}, {"slow", 1000}}));
}

struct Load {
  std::string name;
  std::string command;
};

void PrintTo(const Load& load, std::ostream* stream) {
  *stream << load.name;
}

// Frame by frame: the stacks of one recording as `perf script` and we find them.
class UnwoundAlike : public PerfData, public ::testing::WithParamInterface<Load> {};

TEST_P(UnwoundAlike, WherePerfReachesARoot) {
  const std::string path =
      record("--buildid-mmap --call-graph dwarf,32768", GetParam().command + " >/dev/null");
  auto file = perf_data::open_recording(path);
  ASSERT_TRUE(file);
  const auto imported = perf_data::import_recording(file->reader, {.folders = {{"/usr", built_file()}}});
  ASSERT_TRUE(imported) << imported.error().text();
  const Finished script =
      shell(perf_ + "script --no-inline --max-stack 2000 -F pid,tid,ip,sym,dso -i " + path);
  const Comparison result = compare(stacks_of_perf(script.out), stacks_of_profile(imported->profile));
  std::printf("%s: %lu of %lu stacks equal; of %lu perf finds no root\n", GetParam().name.c_str(),
              result.equal, result.compared, result.not_compared);
  for (const auto& [kind, count] : result.differences) {
    std::printf("  %lu: %s\n    %s\n", count, kind.c_str(), result.examples.at(kind).c_str());
  }
  ASSERT_GT(result.compared, 300);
  EXPECT_GE(static_cast<double>(result.equal), 0.99 * static_cast<double>(result.compared));
}

const std::string kSqlite =
    "/usr/bin/sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x+1 from c "
    "where "
    "x<6000000) "
    "select count(*), sum(x*x%7), group_concat(case when x%100000=0 then hex(x) end) from c;' >/dev/null";
const std::string kPython =
    "/usr/bin/python3 -c 'import json\n"
    "for n in range(400):\n"
    "  json.loads(json.dumps([{\"a\": i, \"b\": [str(j) for j in range(5)]} for i in range(500)]))\n"
    "  sorted((str(i * 7919 % 1000) for i in range(3000)), key=lambda s: s[::-1])\n' ";
const std::string kPerl =
    "/usr/bin/perl -e 'my %h; for my $n (1..200) { for my $i (1..20000) { my $k = "
    "\"k\".($i*7919%5003); "
    "$h{$k} .= \"x\" if $k =~ /^k(\\d+)3$/; } my @s = sort { $h{$a} cmp $h{$b} } keys %h; %h = (); }'";
// Three times, so that it takes long enough on a fast machine.
const std::string kGxx =
    "sh -c 'for time in 1 2 3; do printf \"#include <algorithm>\\n#include <map>\\n#include "
    "<regex>\\n#include "
    "<string>\\n#include <iostream>\\n#include <functional>\\n\" | /usr/bin/g++ -O2 -x c++ -c -o /dev/null "
    "-; done'";

INSTANTIATE_TEST_SUITE_P(Programs, UnwoundAlike,
                         ::testing::Values(Load{"python3", kPython}, Load{"sqlite3", kSqlite},
                                           Load{"perl", kPerl}, Load{"gxx", kGxx}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace plimsoll::testing
