// The main job, whole: a program as distributions ship them (optimized, without frame pointers, stripped, its debug file
// kept apart) is sampled, stored, named late, and asked about. Needs the privileges to sample the machine.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/file.h"
#include "base/hex.h"
#include "elf/elf_file.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/places.h"

namespace plimsoll::testing {
namespace {

const std::string kSources = source_file("tests/workloads/");

// The line of a source that holds `text`.
int64_t line_of(const std::string& source, const std::string& text) {
  std::ifstream file(kSources + source);
  int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.find(text) != std::string::npos) {
      return number;
    }
  }
  ADD_FAILURE() << source << " has no line with " << text;
  return 0;
}

std::string build_id_of(const std::string& path) {
  const auto content = read_file(path, 1 << 30);
  const auto file = elf::ElfFile::parse(as_bytes(*content));
  return to_hex(file->build_id());
}

// All files below a folder, with what is in them.
std::map<std::string, std::string> contents_of(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    contents[entry.path().filename().string()] =
        read_file(entry.path().string(), 1 << 30).value_or("unreadable");
  }
  return contents;
}

class MainJob : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
    for (const char* name : {"deep_split", "libdeep_split_library.so"}) {
      const std::string shipped = folder_ / name;
      const std::string original = program(name);
      ASSERT_EQ(run({"/bin/sh", "-c",
                     "objcopy --only-keep-debug " + original + " " + shipped + ".debug && cp " + original +
                         " " + shipped + " && strip " + shipped})
                    .status,
                0);
    }
  }

  // Where the symbolizer looks for them: DEBUG/.build-id/xx/yyyy.debug.
  void install_debug_files() {
    for (const char* name : {"deep_split", "libdeep_split_library.so"}) {
      const std::string id = build_id_of(folder_ / name);
      const std::string place = folder_ / "debug/.build-id/" + id.substr(0, 2);
      std::filesystem::create_directories(place);
      std::filesystem::rename(folder_ / (std::string(name) + ".debug"),
                              place + "/" + id.substr(2) + ".debug");
    }
  }

  Finished import(const std::vector<std::string>& files) {
    std::vector<std::string> argv{"plimsoll",      "import",         "--data",        data_,
                                  "--symbol-root", folder_.path(),   "--symbol-root", "/usr",
                                  "--debug-root",  folder_ / "debug"};
    argv.insert(argv.end(), files.begin(), files.end());
    Finished imported = run(argv);
    EXPECT_EQ(imported.status, 0) << imported.err;
    return imported;
  }

  query::Table hot(const std::string& by, const std::string& where = "app=deep_split") const {
    return top(
        {"--data", data_, "--where", "app=deep_split", "--where", where, "--by", by, "--limit", "100000"});
  }

  const TemporaryFolder folder_;
  const std::string data_ = folder_ / "data";
};

void expect_share(const char* what, double share, double expected, double samples) {
  const double standard_error = std::sqrt(expected * (1 - expected) / samples);
  std::printf("%s: sampled %.4f, expected %.4f, off by %.2f standard errors of %.0f samples\n", what, share,
              expected, (share - expected) / standard_error, samples);
  EXPECT_NEAR(share, expected, 4 * standard_error) << what;
}

// Share of the selection's value on rows whose first column begins so.
double self_share(const query::Table& table, const std::string& beginning) {
  double share = 0;
  for (const auto& row : table.rows) {
    share += std::get<std::string>(row[0]).starts_with(beginning) ? std::get<double>(row[2]) : 0;
  }
  return share;
}

TEST_F(MainJob, FindsSharesLinesAndInlinedCallsOfAStrippedProgram) {
  Background load({folder_ / "deep_split", "6"});
  ASSERT_EQ(run({"plimsolld", "--once", "5", "--rate", "1000", "--output", folder_ / "profile"}).status, 0);
  double parse = 0;
  double render = 0;
  double library = 0;
  double area = 0;
  const Finished measured = load.wait();
  ASSERT_EQ(std::sscanf(measured.out.c_str(), "parse %lf render %lf library %lf area %lf", &parse, &render,
                        &library, &area),
            4)
      << measured.out;

  // Without its debug files there are only addresses, and the answer says whose.
  import({folder_ / "profile"});
  const query::Table before = hot("function");
  EXPECT_GT(before.coverage.unsymbolized_share, 0.6);
  ASSERT_FALSE(before.coverage.unsymbolized_by.empty());
  EXPECT_EQ(before.coverage.unsymbolized_by[0].binary, "deep_split");
  EXPECT_EQ(before.coverage.unsymbolized_by[0].build_id, build_id_of(folder_ / "deep_split"));
  const auto segments = contents_of(data_ + "/blocks/000001/segments");
  ASSERT_FALSE(segments.empty());

  // They arrive: old rows get names, and are not rewritten.
  install_debug_files();
  const Finished renamed = import({});
  EXPECT_NE(renamed.out.find("deep_split"), std::string::npos) << renamed.out;
  EXPECT_EQ(contents_of(data_ + "/blocks/000001/segments"), segments);
  const query::Table functions = hot("function");
  const auto samples = static_cast<double>(functions.coverage.samples);
  EXPECT_EQ(functions.coverage.samples, before.coverage.samples);
  ASSERT_GT(samples, 2000);
  EXPECT_LT(functions.coverage.unsymbolized_share, 0.01);

  // Self belongs to the innermost inlined function; its callers are on the stack.
  expect_share("mix", self_share(functions, "(anonymous namespace)::mix"), parse + render, samples);
  expect_share("library_digest", self_share(functions, "library_digest"), library, samples);
  expect_share("area", self_share(functions, "(anonymous namespace)::Circle::area"), area, samples);
  const query::Table callers = hot("function");
  const auto total_share = [&](const query::Table& table, const std::string& end) {
    double share = 0;
    for (const auto& row : table.rows) {
      share += std::get<std::string>(row[0]).ends_with(end)
                   ? std::get<double>(row[query::column_of(table, "total_share")])
                   : 0;
    }
    return share;
  };
  expect_share("mix within parse", total_share(callers, "::parse"), parse, samples);
  expect_share("mix within render", total_share(callers, "::render"), render, samples);

  // Lines: samples fall on the loops (the compiler may give a part of one to the line of its `for`), calls on their own.
  const query::Table lines = hot("line");
  const auto on_line = [&](const std::string& source, int64_t line, const char* column) {
    double share = 0;
    for (const auto& row : lines.rows) {
      share += std::get<std::string>(row[0]).ends_with(source + ":" + std::to_string(line))
                   ? std::get<double>(row[query::column_of(lines, column)])
                   : 0;
    }
    return share;
  };
  const auto in_loop = [&](const std::string& source, const std::string& mark) {
    const int64_t line = line_of(source, mark);
    return on_line(source, line, "self_share") + on_line(source, line - 1, "self_share");
  };
  expect_share("lines of mix", in_loop("deep_split.cc", "hot: mix"), parse + render, samples);
  expect_share("lines of library_digest", in_loop("deep_split_library.cc", "hot: library_digest"), library,
               samples);
  expect_share("lines of area", in_loop("deep_split.cc", "hot: area"), area, samples);
  expect_share("the call of mix in parse",
               on_line("deep_split.cc", line_of("deep_split.cc", "call: parse"), "total_share"), parse,
               samples);
  expect_share("the call of mix in render",
               on_line("deep_split.cc", line_of("deep_split.cc", "call: render"), "total_share"), render,
               samples);

  // Whole stacks: 41 frames of the recursion above the virtual call, under main.
  double whole = 0;
  for (const auto& row : hot("stack", "function=~Circle::area").rows) {
    const auto& stack = std::get<std::string>(row[0]);
    size_t depth = 0;
    for (size_t at = stack.find("::descend"); at != std::string::npos; at = stack.find("::descend", at + 1)) {
      ++depth;
    }
    const bool is_whole =
        depth == 41 && stack.find("main;") != std::string::npos && !stack.starts_with("[unfinished");
    whole += is_whole ? std::get<double>(row[2]) : 0;
  }
  EXPECT_GT(whole, 0.99);
}

}  // namespace
}  // namespace plimsoll::testing
