#include "cli/usage/suggestions.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "base/suggest.h"

namespace plimsoll::cli {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) {
      names.push_back(command->get_name());
    }
  }
  return names;
}

std::vector<std::string> flag_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

const CLI::App* find_subcommand(const CLI::App& app, const std::string& name) {
  const auto commands =
      app.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
  return commands.empty() ? nullptr : commands.front();
}

const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
  }
  return *command;
}

std::string unknown_word_text(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App& command = innermost(app);
  const bool takes_commands = !command_names(command).empty();
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    const bool is_flag = name.starts_with("--");
    const std::vector<std::string> known = is_flag ? flag_names(command) : command_names(command);
    const bool may_be_value = !is_flag && (!takes_commands || find_subcommand(app, name) != nullptr);
    if (may_be_value || std::ranges::find(known, name) != known.end()) {
      continue;
    }
    const std::vector<std::string_view> views(known.begin(), known.end());
    const auto nearest = nearest_word(name, views);
    return fmt::format("no such {}: {}{}", is_flag ? "flag" : "command", name,
                       nearest ? fmt::format("; did you mean {}?", *nearest) : std::string());
  }
  return {};
}

}  // namespace plimsoll::cli
