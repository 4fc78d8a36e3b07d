// The flags of the subcommands that ask: top, callers, callees, diff, flame, export, machines, sql.
#pragma once

#include "cli/views/commands.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

// What they were told.
struct ViewOptions {
  TableOptions top;
  TableOptions callers;
  TableOptions callees;
  TableOptions diff;
  TableOptions machines;
  FlameOptions flame;
  ExportOptions exporting;
  SqlOptions sql;
};

void add_view_commands(CLI::App& app, ViewOptions& options);

// Whether one of them was given; then it can be run.
bool gives_view_command(const CLI::App& app);
Status run_view_command(const CLI::App& app, const ViewOptions& options);

}  // namespace plimsoll::cli
