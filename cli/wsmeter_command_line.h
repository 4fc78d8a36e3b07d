// The flags of `plimsoll wsmeter`.
#pragma once

#include "cli/wsmeter.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

void add_wsmeter_command(CLI::App& app, WsmeterPlanOptions& plan);

}  // namespace plimsoll::cli
