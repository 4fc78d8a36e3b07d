// The flags of `plimsoll assign`.
#pragma once

#include "cli/assign.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

void add_assign_command(CLI::App& app, AssignOptions& options);

}  // namespace plimsoll::cli
