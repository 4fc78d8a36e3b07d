// What is wrong with a command line, in the words of the rest of our messages.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace plimsoll::cli {

// One line about an error of parsing `words` (the command line without the program's name), without the command's name. Errors that CLI11
// words well keep its text.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error,
                       const std::vector<std::string>& words);

}  // namespace plimsoll::cli
