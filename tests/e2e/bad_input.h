// What tests of wrong input share: commands that must be refused, as data, and how they are refused.
#pragma once

#include <string>
#include <vector>

namespace plimsoll::testing {

struct BadCommand {
  std::vector<std::string> arguments;
  std::string says;  // part of the message
  int status = 2;
};

// Runs `name`, one of our programs, with each of them: it has the exit status, says that on standard error, and prints nothing.
void expect_refused(const std::string& name, const std::vector<BadCommand>& commands);

// Makes the file, or replaces its content.
void write(const std::string& path, const std::string& content);

}  // namespace plimsoll::testing
