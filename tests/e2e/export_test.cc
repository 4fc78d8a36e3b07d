// What other people's readers make of our exports: `go tool pprof` and gperftools' google-pprof must show the order and
// the shares that `plimsoll top` shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <random>
#include <sstream>

#include "base/durable_file.h"
#include "proto/profile_codec.h"
#include "query/table/table.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

struct Line {
  std::string name;
  double self_share = 0;
  double total_share = 0;
};

// Both readers print "flat flat% sum% cum cum% name" after a line that only one of them calls a header.
std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string flat;
    std::string flat_share;
    std::string sum_share;
    std::string total;
    std::string total_share;
    std::string name;
    words >> flat >> flat_share >> sum_share >> total >> total_share >> std::ws;
    std::getline(words, name);
    if (!flat_share.ends_with('%') || !total_share.ends_with('%') || flat_share == "flat%") {
      continue;
    }
    for (const std::string_view mark : {" (inline)", " (partial-inline)"}) {
      name.resize(name.ends_with(mark) ? name.size() - mark.size() : name.size());
    }
    lines.push_back({name, std::strtod(flat_share.c_str(), nullptr) / 100,
                     std::strtod(total_share.c_str(), nullptr) / 100});
  }
  return lines;
}

// What `go tool pprof` calls addresses without a function.
std::string as_pprof_calls_it(const std::string& name) {
  constexpr std::string_view kNoSymbol = "[no symbol in ";
  return name.starts_with(kNoSymbol) ? "[" + name.substr(kNoSymbol.size()) : name;
}

std::vector<Line> lines_of(const query::Table& table, bool as_pprof) {
  std::vector<Line> lines;
  for (const auto& row : table.rows) {
    const auto& name = std::get<std::string>(row[0]);
    lines.push_back({as_pprof ? as_pprof_calls_it(name) : name,
                     std::get<double>(row[query::column_of(table, "self_share")]),
                     std::get<double>(row[query::column_of(table, "total_share")])});
  }
  return lines;
}

// The same functions with the same shares to within half a printed digit, in the same order where shares decide it:
// equal ones stand by name here and there by total.
void expect_same(const std::vector<Line>& read, const std::vector<Line>& expected, double half_digit) {
  std::map<std::string, Line> by_name;
  for (const Line& line : read) {
    EXPECT_TRUE(by_name.emplace(line.name, line).second) << line.name << " is there twice";
  }
  EXPECT_EQ(by_name.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(by_name.contains(expected[i].name)) << expected[i].name;
    const Line& line = by_name[expected[i].name];
    EXPECT_NEAR(line.self_share, expected[i].self_share, half_digit) << line.name;
    EXPECT_NEAR(line.total_share, expected[i].total_share, half_digit) << line.name;
    EXPECT_NEAR(read[i].self_share, expected[i].self_share, half_digit) << "place " << i;
    // Sums of the same hits in another order differ in their last bits.
    const auto ties_with = [&](size_t other) {
      return other < expected.size() && std::abs(expected[other].self_share - expected[i].self_share) < 1e-12;
    };
    const bool is_tie = ties_with(i - 1) || ties_with(i + 1);
    EXPECT_TRUE(is_tie || read[i].name == expected[i].name) << "place " << i << ": " << read[i].name;
  }
}

// Several machines, programs, events; inlining, recursion, no stack, no symbols; a few hundred functions.
std::vector<wire::RawProfile> profiles() {
  wire::Binary library;
  library.set_path("/usr/lib/x86_64-linux-gnu/libz.so.1");
  library.set_identity_kind(wire::GNU_BUILD_ID);
  library.set_identity("\x01\x02\x03\x04\x05\x06\x07\x08");
  wire::Binary kernel;
  kernel.set_path("[kernel]");
  std::mt19937_64 random(1);
  std::vector<wire::RawProfile> profiles;
  for (uint64_t machine = 1; machine <= 3; ++machine) {
    std::string stacks =
        "main;read>checksum 301\nmain;scan;scan;scan 209\nmain 17\n\"\" 31\nthread=io main;read 41\n";
    for (int line = 0; line < 400; ++line) {
      std::string stack = fmt::format("start@crt.c:1;main{}@app.cc:7", random() % 3);
      for (auto depth = 1 + random() % 12; depth > 0; --depth) {
        stack += fmt::format("{}step_{}@app.cc:{}", random() % 4 == 0 ? '>' : ';', random() % 97,
                             1 + random() % 50);
      }
      const auto hits = static_cast<uint64_t>(std::exp(static_cast<double>(random() % 1000) / 150));
      stacks += fmt::format("process=p{} thread=t{} {}{} {}\n", random() % 4, random() % 4,
                            random() % 5 == 0 ? "event=wait " : "", stack, hits);
    }
    profiles.push_back(make_profile({.seed = machine,
                                     .machine = fmt::format("m{}", machine),
                                     .events = {{.name = "cycles", .scale = 1'000'003.7},
                                                {.name = "wait", .scale = 5e6, .unit = wire::NANOSECONDS}},
                                     .stacks = stacks}));
    add_sample(profiles.back(), library, wire::ELF, 0x1139, 97);
    add_sample(profiles.back(), library, wire::ELF, 0x2139, 53);
    add_sample(profiles.back(), kernel, wire::KERNEL, 0x1000, 71);
  }
  return profiles;
}

class Export : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> arguments{"plimsoll", "import",        "--data",
                                       data_,      "--symbol-root", folder_.path()};
    for (const wire::RawProfile& profile : profiles()) {
      arguments.push_back(folder_ / (profile.machine().id() + ".profile"));
      ASSERT_TRUE(write_file_durably(arguments.back(), as_bytes(wire::encode(profile))));
    }
    const Finished imported = run(arguments);
    ASSERT_EQ(imported.status, 0) << imported.err;
  }

  // Runs a reader with a home and temporary folder of its own; it must not look for symbols anywhere.
  std::string read_with(std::vector<std::string> reader) const {
    reader.insert(reader.begin(), {"/usr/bin/env", "HOME=" + folder_.path(), "PPROF_TMPDIR=" + folder_.path(),
                                   "PPROF_BINARY_PATH=", "DEBUGINFOD_URLS="});
    const Finished finished = run(reader);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return finished.out;
  }

  std::string exported(const std::string& flag, std::vector<std::string> arguments) const {
    const std::string path = folder_ / "exported";
    arguments.insert(arguments.begin(), {"plimsoll", "export", flag, path});
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.status, 0) << finished.err;
    return path;
  }

  TemporaryFolder folder_;
  std::string data_ = folder_ / "data";
};

TEST_F(Export, GoToolPprofShowsWhatTopShows) {
  if (!std::filesystem::exists("/usr/bin/go")) {
    GTEST_SKIP() << "no go (package golang-go)";
  }
  for (const std::string event : {"cycles", "wait"}) {
    const std::vector<std::string> selection{"--data", data_, "--event", event};
    const std::string path = exported("--pprof", selection);
    const std::string text =
        read_with({"/usr/bin/go", "tool", "pprof", "-top", "-nodecount=0", "-nodefraction=0", path});
    auto asked = selection;
    asked.insert(asked.end(), {"--limit", "100000"});
    const auto expected = lines_of(top(asked), true);
    ASSERT_GT(expected.size(), 90);
    expect_same(lines_of(text), expected, 0.00006);
    std::printf("%s: %zu functions, the same\n", event.c_str(), expected.size());
  }
}

TEST_F(Export, GoToolPprofFindsEachEventAndLabel) {
  if (!std::filesystem::exists("/usr/bin/go")) {
    GTEST_SKIP() << "no go (package golang-go)";
  }
  const std::string path = exported("--pprof", {"--data", data_, "--event", "cycles", "--event", "wait"});
  const auto pprof = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"/usr/bin/go", "tool", "pprof", "-top", "-nodecount=0", "-nodefraction=0",
                                 "-relative_percentages"});
    flags.push_back(path);
    return lines_of(read_with(flags));
  };
  expect_same(pprof({"-sample_index=wait"}),
              lines_of(top({"--data", data_, "--event", "wait", "--limit", "100000"}), true), 0.00006);
  expect_same(pprof({"-tagfocus=machine=m2"}),
              lines_of(top({"--data", data_, "--where", "machine=m2", "--limit", "100000"}), true), 0.00006);
  expect_same(pprof({"-tagfocus=app=p1"}),
              lines_of(top({"--data", data_, "--where", "app=p1", "--limit", "100000"}), true), 0.00006);
  const std::string raw = read_with({"/usr/bin/go", "tool", "pprof", "-raw", path});
  EXPECT_THAT(raw, HasSubstr("libz.so.1 0102030405060708"));
}

TEST_F(Export, GooglePprofShowsWhatTopShows) {
  if (!std::filesystem::exists("/usr/bin/google-pprof")) {
    GTEST_SKIP() << "no google-pprof (package google-perftools)";
  }
  const std::string path = exported("--gperftools", {"--data", data_});
  const std::string text =
      read_with({"/usr/bin/google-pprof", "--text", "--nodefraction=0", "--nodecount=100000", path});
  const auto expected = lines_of(top({"--data", data_, "--limit", "100000"}), false);
  ASSERT_GT(expected.size(), 90);
  expect_same(lines_of(text), expected, 0.0006);
}

TEST_F(Export, ServerAndDataDirectoryGiveTheSameBytes) {
  const Finished from_directory = run({"plimsoll", "export", "--data", data_, "--pprof", "-"});
  const Finished folded_from_directory = run({"plimsoll", "flame", "--data", data_, "--folded"});
  TestServer server(data_);
  ASSERT_TRUE(server.becomes_ready());
  const Finished from_server = run({"plimsoll", "export", "--server", server.address(), "--pprof", "-"});
  EXPECT_EQ(from_server.status, 0) << from_server.err;
  EXPECT_EQ(from_server.out, from_directory.out);
  EXPECT_GT(from_server.out.size(), 1000);
  const Finished folded = run({"plimsoll", "flame", "--server", server.address(), "--folded"});
  EXPECT_EQ(folded.status, 0) << folded.err;
  EXPECT_EQ(folded.out, folded_from_directory.out);
  EXPECT_THAT(folded.out, HasSubstr("main;scan;scan;scan "));
  const Finished text = run({"plimsoll", "flame", "--server", server.address()});
  EXPECT_THAT(text.out, HasSubstr("largest nodes"));
  const Finished refused = run({"plimsoll", "flame", "--server", server.address(), "--event", "waits"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("events with samples: "));
}

}  // namespace
}  // namespace plimsoll::testing
