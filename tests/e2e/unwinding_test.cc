// Stacks of a mix of real programs, and how many of them reach the outermost frame, beside what `perf script` makes of a
// recording of the same load. Needs the privileges to sample the machine.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "query/table/table.h"
#include "tests/e2e/program.h"
#include "tests/places.h"

namespace plimsoll::testing {
namespace {

struct Load {
  std::string name;
  std::vector<std::string> argv;
  std::string comm;  // as perf names the process
  std::string app;   // as we do: a regular expression
  double at_least;   // share of the stacks that must be complete
  std::string stack_bytes = "16384";
};

void PrintTo(const Load& load, std::ostream* stream) {
  *stream << load.name;
}

struct Completeness {
  double complete = 0;
  double samples = 0;
  std::map<std::string, double> unfinished;  // share by reason

  double share() const { return samples == 0 ? 0 : complete / samples; }
};

struct PerfFrame {
  std::string symbol;
  std::string file;
};

// Whether the stack, leaf first, ends where programs and threads begin. A thread's first function and the system call that
// made it have no dynamic symbols: libc's two frames below libstdc++'s one.
bool is_complete(const std::vector<PerfFrame>& stack) {
  static const std::set<std::string> kStarts{"_start",
                                             "clone3",
                                             "__clone3",
                                             "runtime.goexit",
                                             "runtime.goexit.abi0",
                                             "runtime.mstart",
                                             "runtime.mstart.abi0"};
  if (stack.empty() || kStarts.contains(stack.back().symbol)) {
    return !stack.empty();
  }
  const size_t last = stack.size() - 1;
  const auto is_in = [&](size_t frame, std::string_view library) {
    return stack[frame].file.find(library) != std::string::npos;
  };
  return (last >= 1 && stack[last - 1].symbol.starts_with("__libc_start_main")) ||
         (last >= 2 && is_in(last, "libc.so") && is_in(last - 1, "libc.so") && is_in(last - 2, "libstdc++"));
}

// `perf script -F comm,ip,sym,dso`: a line with the name, then "ADDRESS SYMBOL (FILE)" from leaf to root, then an empty one.
Completeness of_perf(const std::string& script, const std::string& comm) {
  Completeness result;
  std::vector<PerfFrame> stack;
  bool is_wanted = false;
  const auto finish = [&] {
    if (is_wanted && !stack.empty()) {
      ++result.samples;
      result.complete += is_complete(stack) ? 1 : 0;
    }
    stack.clear();
  };
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    std::string symbol;
    words >> first >> symbol;
    if (first.empty()) {
      finish();
    } else if (line[0] != ' ' && line[0] != '\t') {
      is_wanted = line.starts_with(comm.substr(0, 15));  // as long as the kernel keeps names
    } else {
      stack.push_back(
          {symbol.substr(0, symbol.find('@')), line.substr(std::min(line.rfind('('), line.size()))});
    }
  }
  finish();
  return result;
}

// Whether a stack of ours, outermost function first, begins where programs and threads do, by the same rules.
bool begins_at_a_start(const std::string& stack) {
  std::vector<PerfFrame> outermost;
  std::istringstream names(stack);
  for (std::string name; outermost.size() < 3 && std::getline(names, name, ';');) {
    outermost.insert(outermost.begin(), {name, name});
  }
  return is_complete(outermost);
}

Completeness of_plimsoll(const std::string& data_dir, const std::string& app) {
  const Finished top = run({"plimsoll", "top", "--data", data_dir, "--where", "app=~^(" + app + ")$", "--by",
                            "stack", "--limit", "1000000", "--json"});
  EXPECT_EQ(top.status, 0) << top.err;
  const auto table = query::from_json(top.out);
  Completeness result;
  if (!table) {
    ADD_FAILURE() << table.error().text();
    return result;
  }
  result.samples = static_cast<double>(table->coverage.samples);
  for (const auto& row : table->rows) {
    const auto& stack = std::get<std::string>(row[0]);
    const double samples = std::get<double>(row[2]) * result.samples;
    if (stack.starts_with("[unfinished: ")) {
      result.unfinished[stack.substr(0, stack.find(']') + 1)] += samples / result.samples;
    } else if (!begins_at_a_start(stack)) {
      result.unfinished["taken for whole, but begins at " + stack.substr(0, stack.find(';'))] +=
          samples / result.samples;
    } else {
      result.complete += samples;
    }
  }
  return result;
}

class Unwinding : public ::testing::TestWithParam<Load> {
 protected:
  void SetUp() override {
    if (machine_is_busy()) {
      GTEST_SKIP() << "busy machine: other load decides how many stacks can be copied whole";
    }
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
    if (run({"/bin/sh", "-c", "command -v perf >/dev/null"}).status != 0) {
      GTEST_SKIP() << "there is no perf";
    }
    if (run({"/bin/sh", "-c", "command -v " + GetParam().argv[0] + " >/dev/null"}).status != 0) {
      GTEST_SKIP() << "there is no " << GetParam().argv[0];
    }
  }
};

// A source that keeps a compiler busy with templates.
void write_source(const std::string& path) {
  std::ofstream source(path);
  source << "#include <algorithm>\n#include <map>\n#include <regex>\n#include <string>\n#include <vector>\n";
  for (int i = 0; i < 60; ++i) {
    source << "template <int N> struct T" << i
           << " { std::map<int, std::vector<std::string>> m; int f(int x) { "
           << "m[x].push_back(std::to_string(N + x)); std::sort(m[x].begin(), m[x].end()); return "
              "(int)m.size(); } };\n"
           << "int g" << i << "(int x) { return T" << i << "<" << i << ">().f(x) + T" << i << "<" << i + 1
           << ">().f(x); }\n";
  }
}

std::vector<std::string> with_source(std::vector<std::string> argv, const std::string& path) {
  for (std::string& argument : argv) {
    if (const size_t at = argument.find("SOURCE"); at != std::string::npos) {
      argument.replace(at, 6, path);
    }
  }
  return argv;
}

TEST_P(Unwinding, ReachesTheOutermostFrameAtLeastAsOftenAsPerf) {
  const Load& load = GetParam();
  const TemporaryFolder folder;
  write_source(folder / "source.cc");
  const Background background(with_source(load.argv, folder / "source.cc"));
  const Finished recorded = run({"/bin/sh", "-c",
                                 "exec perf record -q -B -a -F 397 --call-graph dwarf," + load.stack_bytes +
                                     " -o " + (folder / "perf.data") + " -- sleep 2"});
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const Finished once = run({"plimsolld", "--once", "2", "--rate", "397", "--stack-bytes", load.stack_bytes,
                             "--output", folder / "profile"});
  ASSERT_EQ(once.status, 0) << once.err;
  background.kill(9);
  const Finished script =
      run({"/bin/sh", "-c", "exec perf script --no-inline -F comm,ip,sym,dso -i " + (folder / "perf.data")});
  ASSERT_EQ(script.status, 0) << script.err;
  ASSERT_EQ(run({"plimsoll", "import", "--data", folder / "data", "--symbol-root", built_file(),
                 "--symbol-root", "/usr", folder / "profile"})
                .status,
            0);

  const Completeness perf = of_perf(script.out, load.comm);
  const Completeness ours = of_plimsoll(folder / "data", load.app);
  std::printf("%s: %.1f %% of %.0f stacks complete; perf script: %.1f %% of %.0f\n", load.name.c_str(),
              ours.share() * 100, ours.samples, perf.share() * 100, perf.samples);
  for (const auto& [reason, share] : ours.unfinished) {
    std::printf("  %.1f %% %s\n", share * 100, reason.c_str());
  }
  ASSERT_GT(ours.samples, 200);
  EXPECT_GE(ours.share(), load.at_least);
  // Two samples of one load: each share has its own chance.
  const double noise = 4 * std::sqrt(0.25 / ours.samples + 0.25 / std::max(perf.samples, 1.0));
  EXPECT_GE(ours.share(), perf.share() - std::min(noise, 0.05));
}

const std::string kSqlite =
    "with recursive c(x) as (select 1 union all select x+1 from c where x<2000000000) "
    "select count(*), sum(x*x%7), group_concat(case when x%100000=0 then hex(x) end) from c;";
const std::string kPython =
    "import json\n"
    "while True:\n"
    "  json.loads(json.dumps([{'a': i, 'b': [str(j) for j in range(5)]} for i in range(500)]))\n"
    "  sorted((str(i * 7919 % 1000) for i in range(3000)), key=lambda s: s[::-1])\n";
const std::string kPerl =
    "my %h; while (1) { for my $i (1..20000) { my $k = 'k'.($i*7919%5003); $h{$k} .= 'x' if $k =~ "
    "/^k(\\d+)3$/; } "
    "my @s = sort { $h{$a} cmp $h{$b} } keys %h; %h = (); }";

INSTANTIATE_TEST_SUITE_P(
    Programs, Unwinding,
    ::testing::Values(
        Load{"sqlite3", {"/usr/bin/sqlite3", ":memory:", kSqlite}, "sqlite3", "sqlite3", 0.95},
        Load{"python3", {"/usr/bin/python3", "-c", kPython}, "python3", "python3.*", 0.95},
        Load{"perl", {"/usr/bin/perl", "-e", kPerl}, "perl", "perl.*", 0.95},
        Load{"gxx",
             {"/bin/sh", "-c", "while :; do /usr/bin/g++ -O2 -c SOURCE -o /dev/null || exit 1; done"},
             "cc1plus",
             "cc1plus",
             0.7},
        Load{"gxx_with_largest_copies",
             {"/bin/sh", "-c", "while :; do /usr/bin/g++ -O2 -c SOURCE -o /dev/null || exit 1; done"},
             "cc1plus",
             "cc1plus",
             0.8,
             "65528"},
        // Its threads would leave perf nothing to write its recording in: that took half a minute.
        Load{"threaded_server",
             {"/usr/bin/nice", "-n", "19", built_file("threaded_server"), "200"},
             "threaded_server",
             "threaded_server",
             0.95},
        Load{"go", {built_file("go_load"), "200"}, "go_load", "go_load", 0.95}),
    [](const auto& tested) { return tested.param.name; });

// A program of a mix that runs all at once.
struct MixedLoad {
  std::string app;  // as we name it: a regular expression
  std::vector<std::string> argv;
};

// One that ends is started again; killed, the last one ends by itself.
MixedLoad again_and_again(const std::string& app, const std::string& command) {
  return {app, {"/bin/sh", "-c", "while :; do " + command + " >/dev/null || exit 1; done"}};
}

std::vector<MixedLoad> mixed_loads() {
  const std::string some_file = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6";
  const std::string sorted_backwards =
      "{ n = split($0, w, \"\"); for (i = n; i > 0; --i) k = k w[i]; print k; k = \"\" }";
  return {
      {"sqlite3", {"/usr/bin/sqlite3", ":memory:", kSqlite}},
      {"python3.*", {"/usr/bin/python3", "-c", kPython}},
      {"perl.*", {"/usr/bin/perl", "-e", kPerl}},
      {"threaded_server", {built_file("threaded_server"), "200"}},
      {"go_load", {built_file("go_load"), "200"}},
      {"openssl", {"/usr/bin/openssl", "speed", "-seconds", "200", "rsa2048"}},
      {"sha256sum", {"/usr/bin/sha256sum", "/dev/zero"}},
      again_and_again("xz", "xz -6 -c " + some_file),
      again_and_again("gzip", "gzip -9 -c " + some_file),
      again_and_again("zstd", "zstd -q -f -12 -c " + some_file),
      again_and_again("bzip2", "bzip2 -c " + some_file),
      again_and_again("tar", "tar cf - /usr/include/c++ | cat"),
      again_and_again("git",
                      "git --no-pager diff --no-index --minimal /usr/include/c++ /usr/include/clang; true"),
      again_and_again("[mg]?awk", "seq 1 100000 | awk '" + sorted_backwards + "'"),
      again_and_again("sed", "seq 1 100000 | sed -E 's/(1|2)+([0-9]*)3/\\2x/g'"),
      again_and_again("sort", "seq 1 200000 | sort -k1,1r"),
      again_and_again("grep", "grep -rEc '(virtual|typename).*[a-z]+_t>' /usr/include/c++"),
      {"cmake", {"/usr/bin/cmake", "-P", "SOURCE.cmake"}},
      again_and_again(".*objdump", "objdump -d -C " + some_file),
  };
}

// A loop without end.
void write_cmake_script(const std::string& path) {
  std::ofstream(path) << "cmake_minimum_required(VERSION 3.20)\nset(list a;bb;ccc;dddd)\nwhile(TRUE)\n  "
                         "string(REGEX REPLACE \"(a|b)+\" \"x\" out \"${list}\")\n"
                         "  list(SORT list ORDER DESCENDING)\n  math(EXPR n \"1 + 2 * 3\")\nendwhile()\n";
}

// How many stacks a processor gives no copy of (it is busy with programs' starts and ends), or too short a one (with system
// calls in cmake's large frames), depends on it: 1.5 to 4 % on those seen. What there is of a stack is unwound everywhere.
TEST(UnwindingOfAMix, ReachesTheOutermostFrameOfTheStacksThatWereCopied) {
  if (machine_is_busy()) {
    GTEST_SKIP() << "busy machine: other load decides how many stacks can be copied whole";
  }
  if (!may_sample_machine()) {
    GTEST_SKIP() << "this user may not sample the machine";
  }
  const TemporaryFolder folder;
  write_source(folder / "source.cc");
  write_cmake_script(folder / "source.cc.cmake");
  std::vector<Background> running;
  for (const MixedLoad& load : mixed_loads()) {
    running.emplace_back(with_source(load.argv, folder / "source.cc"));
  }
  const Finished once = run({"plimsolld", "--once", "10", "--rate", "397", "--stack-bytes", "16384",
                             "--output", folder / "profile"});
  ASSERT_EQ(once.status, 0) << once.err;
  running.clear();
  ASSERT_EQ(run({"plimsoll", "import", "--data", folder / "data", "--symbol-root", built_file(),
                 "--symbol-root", "/usr", folder / "profile"})
                .status,
            0);
  Completeness all;
  double not_copied = 0;
  int programs = 0;
  for (const MixedLoad& load : mixed_loads()) {
    const Completeness one = of_plimsoll(folder / "data", load.app);
    std::printf("%-16s %6.0f stacks, %5.1f %% complete\n", load.app.c_str(), one.samples, one.share() * 100);
    for (const auto& [reason, share] : one.unfinished) {
      std::printf("  %.1f %% %s\n", share * 100, reason.c_str());
      if (reason == "[unfinished: no user stack]" || reason == "[unfinished: the stack copy is too short]") {
        not_copied += share * one.samples;
      }
    }
    all.samples += one.samples;
    all.complete += one.complete;
    programs += one.samples > 0 ? 1 : 0;
  }
  const double share_of_copied = all.complete / (all.samples - not_copied);
  std::printf("all: %.2f %% of %.0f stacks of %d programs, %.2f %% of those that were copied\n",
              all.share() * 100, all.samples, programs, share_of_copied * 100);
  EXPECT_GE(programs, 15) << "of " << mixed_loads().size();
  EXPECT_GT(all.samples, 2'000);
  EXPECT_GE(share_of_copied, 0.985);
  EXPECT_GE(all.share(), 0.94);
}

}  // namespace
}  // namespace plimsoll::testing
