// Flags that are handed on as parameters: a name and a text each.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace plimsoll::cli {

// A flag whose value becomes a (name, text) pair, in the order of the command line. May be repeated.
CLI::Option* add_parameter(CLI::App& command, const std::string& flag, const std::string& name,
                           std::vector<std::pair<std::string, std::string>>& parameters,
                           const std::string& help);

}  // namespace plimsoll::cli
