// The flags of `plimsoll store`.
#pragma once

#include "cli/store_compact.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

void add_store_command(CLI::App& app, StoreCompactOptions& options);

}  // namespace plimsoll::cli
