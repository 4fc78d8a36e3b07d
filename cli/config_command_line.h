// The flags of `plimsoll config`.
#pragma once

#include "base/result.h"
#include "cli/config.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

void add_config_commands(CLI::App& app, ConfigOptions& options);
// Of the subcommand that was given.
Status run_config_command(const CLI::App& app, const ConfigOptions& options);

}  // namespace plimsoll::cli
