// The flags of `plimsoll experiment`.
#pragma once

#include "cli/experiment.h"
#include "cli/experiment_percentiles.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

struct ExperimentCommands {
  ExperimentDefineOptions define;
  ExperimentListOptions list;
  ExperimentWithdrawOptions withdraw;
  ExperimentPlanOptions plan;
  ExperimentWatchOptions watch;
  ExperimentReportOptions report;
  ExperimentPercentilesOptions percentiles;
};

void add_experiment_command(CLI::App& app, ExperimentCommands& options);
// The one of its subcommands that was given.
Status run_experiment_command(const CLI::App& app, const ExperimentCommands& options);

}  // namespace plimsoll::cli
