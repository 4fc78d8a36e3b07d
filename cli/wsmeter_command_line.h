// The flags of `plimsoll wsmeter`.
#pragma once

#include "cli/wsmeter.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

void add_wsmeter_command(CLI::App& app, WsmeterOptions& options);
// The one of its subcommands that was given.
Status run_wsmeter_command(const CLI::App& app, const WsmeterOptions& options);

}  // namespace plimsoll::cli
