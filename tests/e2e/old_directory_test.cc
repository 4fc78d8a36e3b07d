// A data directory that the last program without blocks wrote (format 6), with its answers to some questions. Upgraded
// by today's program, the directory has the same answers. scripts/make-old-directory.sh writes, asks and packs.
//
// PLIMSOLL_TEST_OLD_DIRECTORY   the packed file (tests/data/old_directory_6.tar.xz)
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

#include "base/file.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/places.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint64_t kMaxAnswerBytes = uint64_t{16} << 20;
constexpr size_t kMinQuestions = 15;

std::string packed_directory() {
  const char* const given = std::getenv("PLIMSOLL_TEST_OLD_DIRECTORY");
  return given != nullptr ? given : source_file("tests/data/old_directory_6.tar.xz");
}

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

// Nine digits: the order in which a sum is made may change the last of seventeen.
std::string cell_text(const query::Value& value) {
  if (const auto* const text = std::get_if<std::string>(&value)) {
    return *text;
  }
  return std::holds_alternative<std::monostate>(value) ? "absent" : fmt::format("{:.9g}", number(value));
}

// Margins are estimates by rules of a program, and not what a directory holds.
bool is_compared(const query::TableColumn& column) {
  return column.name.find("margin") == std::string::npos && !column.name.ends_with("_low") &&
         !column.name.ends_with("_high");
}

// A line for each row, in any order, and one for what the answer stands on. Only columns that `old` has.
std::vector<std::string> lines_of(const query::Table& table, const query::Table& old) {
  std::vector<std::string> lines;
  const auto& on = table.coverage;
  lines.push_back(fmt::format("{}: {} samples, {} lost, of {} of {} machines, {} to {}", table.event,
                              on.samples, on.lost, on.machines_drawn, on.machines_live, on.from_ns,
                              on.to_ns));
  for (const Row& row : rows_of(table)) {
    std::string line;
    for (const query::TableColumn& column : old.columns) {
      const auto cell = row.find(column.name);
      if (is_compared(column)) {
        line +=
            fmt::format("{}={}; ", column.name, cell == row.end() ? "no column" : cell_text(cell->second));
      }
    }
    lines.push_back(line);
  }
  std::ranges::sort(lines);
  return lines;
}

class OldDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string packed = packed_directory();
    if (!std::filesystem::exists(packed)) {
      GTEST_SKIP() << "there is no " << packed << ": scripts/make-old-directory.sh makes it";
    }
    const Finished unpacked =
        run({"/usr/bin/env", "tar", "--extract", "--xz", "--file", packed, "--directory", folder_.path()});
    ASSERT_EQ(unpacked.status, 0) << unpacked.err;
    ASSERT_EQ(*read_file(data_ + "/FORMAT", 100), "6\n");
  }

  // Of the files NAME.arguments.
  std::vector<std::string> questions() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "answers")) {
      if (entry.path().extension() == ".arguments") {
        names.push_back(entry.path().stem().string());
      }
    }
    std::ranges::sort(names);
    return names;
  }

  // A question's arguments, or its old answer.
  std::string kept(const std::string& question, const std::string& what) const {
    const auto content = read_file(folder_ / ("answers/" + question + "." + what), kMaxAnswerBytes);
    EXPECT_TRUE(content) << question;
    return content.value_or(std::string());
  }

  void expect_same_answer(const std::string& question) const {
    std::vector<std::string> argv = lines_in(kept(question, "arguments"));
    const bool is_table = std::ranges::find(argv, "--json") != argv.end();
    argv.insert(argv.begin(), "plimsoll");
    argv.insert(argv.end(), {"--data", data_});
    const Finished asked = run(argv);
    ASSERT_EQ(asked.status, 0) << asked.err;
    const std::string old_answer = kept(question, "answer");
    if (!is_table) {
      std::vector<std::string> old_lines = lines_in(old_answer);
      std::vector<std::string> lines = lines_in(asked.out);
      std::ranges::sort(old_lines);
      std::ranges::sort(lines);
      ASSERT_THAT(old_lines, Not(IsEmpty()));
      EXPECT_EQ(lines, old_lines);
      return;
    }
    const auto old_table = query::from_json(old_answer);
    const auto table = query::from_json(asked.out);
    ASSERT_TRUE(old_table && table) << asked.out;
    ASSERT_THAT(old_table->rows, Not(IsEmpty()));
    EXPECT_EQ(lines_of(*table, *old_table), lines_of(*old_table, *old_table));
  }

  TemporaryFolder folder_;
  const std::string data_ = folder_ / "data";
};

TEST_F(OldDirectory, AnswersAsBeforeOnceItIsUpgraded) {
  const Finished refused = run({"plimsoll", "top", "--data", data_});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("has format 6")) << "a reader changes nothing";
  const Finished upgraded = run({"plimsoll", "import", "--data", data_, "--symbol-root", folder_ / "answers",
                                 "--debug-root", folder_ / "answers"});
  ASSERT_EQ(upgraded.status, 0) << upgraded.err;
  const std::vector<std::string> names = questions();
  EXPECT_GE(names.size(), kMinQuestions);
  for (const std::string& question : names) {
    SCOPED_TRACE(question);
    expect_same_answer(question);
  }
  const Finished checked = run({"plimsoll", "store", "check", "--data", data_});
  EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
}

}  // namespace
}  // namespace plimsoll::testing
