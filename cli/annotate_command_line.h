// The flags of `plimsoll annotate`.
#pragma once

#include "cli/annotate.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

void add_annotate_command(CLI::App& app, AnnotateOptions& options);

}  // namespace plimsoll::cli
