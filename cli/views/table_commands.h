// The subcommands whose answer is a table, one record each: what they say of themselves, their flags, what they run.
#pragma once

#include <span>
#include <string>

#include "cli/views/commands.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

struct TableCommand {
  const char* name;
  const char* description;
  // Apart from those that all have (source and form).
  void (*add_flags)(CLI::App& command, query::Parameters& parameters);
  std::string (*footer)();
  Status (*run)(const TableOptions& options);
};

// In the order of --help.
std::span<const TableCommand> table_commands();

}  // namespace plimsoll::cli
