// The flags of `plimsoll bursts`.
#pragma once

#include "cli/bursts_clocks.h"
#include "cli/bursts_list.h"
#include "cli/bursts_plan.h"
#include "cli/bursts_requests.h"
#include "cli/bursts_search.h"
#include "cli/bursts_show.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

struct BurstsOptions {
  BurstsPlanOptions plan;
  TableOptions list;
  BurstsUploadOptions upload;
  BurstsShowOptions show;
  BurstsRequestsOptions requests;
  BurstsExportOptions exporting;
  BurstsSearchOptions search;
  BurstsClocksOptions clocks;
};

void add_bursts_commands(CLI::App& app, BurstsOptions& options);
// The subcommand that was given.
Status run_bursts_command(const CLI::App& app, const BurstsOptions& options);

}  // namespace plimsoll::cli
