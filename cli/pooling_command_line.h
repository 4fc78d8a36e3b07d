// The flags of `plimsoll pooling`.
#pragma once

#include "cli/pooling.h"

namespace plimsoll::cli {

void add_pooling_command(CLI::App& app, PoolingOptions& options);

}  // namespace plimsoll::cli
