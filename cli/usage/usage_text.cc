#include "cli/usage/usage_text.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "cli/usage/suggestions.h"

namespace plimsoll::cli {
namespace {

// "--data: 1 required DIR missing" and "--data: At Most 1 required but received 2", as CLI11 has it.
std::string mismatch_text(const CLI::App& command, const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  const CLI::Option* const option = command.get_option_no_throw(name);
  if (option == nullptr) {
    return text;
  }
  if (text.ends_with(" missing")) {
    return fmt::format("{} requires a value: {}", name, option->get_type_name());
  }
  return text.find("At Most 1 required") != std::string::npos
             ? fmt::format("{} may be given only once, with one value", name)
             : text;
}

// Words that no option and no command takes. A flag of the command itself among them stands before the command's name.
std::string extras_text(const CLI::App& app, const CLI::App& command) {
  const std::vector<std::string> extras = app.remaining(true);
  const std::vector<std::string> flags = flag_names(command);
  const auto flag = std::ranges::find_if(extras, [&](const std::string& word) {
    return std::ranges::find(flags, word.substr(0, word.find('='))) != flags.end();
  });
  if (flag != extras.end()) {
    return fmt::format("flags follow the command: plimsoll {} {}", command.get_name(),
                       fmt::join(flag, extras.end(), " "));
  }
  return fmt::format("unexpected argument{}: {}", extras.size() == 1 ? "" : "s", fmt::join(extras, " "));
}

}  // namespace

std::string usage_text(const CLI::App& app, const CLI::ParseError& error,
                       const std::vector<std::string>& words) {
  const CLI::App& command = innermost(app);
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (is_extra || is_missing) {
    // A misspelt subcommand of wsmeter is a missing one to CLI11.
    if (std::string unknown = unknown_word_text(app, words); !unknown.empty()) {
      return unknown;
    }
  }
  if (is_extra) {
    return extras_text(app, command);
  }
  const std::vector<std::string> commands = command_names(command);
  if (is_missing && !commands.empty()) {
    return fmt::format("missing command: {}", fmt::join(commands, ", "));
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return mismatch_text(command, error.what());
  }
  return error.what();
}

}  // namespace plimsoll::cli
