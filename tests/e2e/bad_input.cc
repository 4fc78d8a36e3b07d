#include "tests/e2e/bad_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/e2e/program.h"

namespace plimsoll::testing {

void expect_refused(const std::string& name, const std::vector<BadCommand>& commands) {
  for (const BadCommand& command : commands) {
    std::vector<std::string> argv{name};
    argv.insert(argv.end(), command.arguments.begin(), command.arguments.end());
    const Finished refused = run(argv);
    const std::string line = fmt::format("{}", fmt::join(argv, " "));
    EXPECT_EQ(refused.status, command.status) << line;
    EXPECT_THAT(refused.err, ::testing::HasSubstr(command.says)) << line;
    EXPECT_EQ(refused.out, "") << line;
  }
}

void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace plimsoll::testing
