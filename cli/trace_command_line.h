// The flags of `plimsoll diagnose`, `plimsoll regressions` and `plimsoll trace`.
#pragma once

#include "cli/diagnose.h"
#include "cli/regressions.h"
#include "cli/trace_show.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

struct TraceOptions {
  DiagnoseOptions diagnose;
  RegressionsOptions regressions;
  TraceShowOptions show;
};

void add_trace_commands(CLI::App& app, TraceOptions& options);
bool gives_trace_command(const CLI::App& app);
// The one of them that was given.
Status run_trace_command(const CLI::App& app, const TraceOptions& options);

}  // namespace plimsoll::cli
