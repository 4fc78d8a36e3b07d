#include "cli/pooling_command_line.h"

#include <CLI/CLI.hpp>

#include "cli/views/flags.h"

namespace plimsoll::cli {

void add_pooling_command(CLI::App& app, PoolingOptions& options) {
  auto* command = app.add_subcommand(
      "pooling", "Show what services would need if they shared CPUs, and which depend on each other");
  command
      ->add_option(
          "file", options.file,
          "CSV with the columns time, service, cpus, or JSON objects of the same (\"-\": standard input)")
      ->type_name("FILE")
      ->required();
  add_share(*command, "--share", options.share, "Share of the steps in which the need is met (default 99%)",
            {0.01, 0.99999});
  command
      ->add_option("--max-lag", options.max_lag,
                   "Look for use that follows another service's by up to this time (default: 20 steps)")
      ->type_name("DURATION");
  command->add_option("--seed", options.seed, "Of the random permutations (default 1)")->type_name("N");
  add_forms(*command, options.form);
  command->footer(
      R"(cpus is what a service used in the step that begins at time: RFC 3339, or seconds since 1970. Give steps as short as
bursts of use, such as 10 ms: over a minute bursts of two services add up that never met.

Rows:
  service      CPUs that meet the need of one service alone
  separate     their sum: what the services need apart
  pooled       what they need together, as observed
  independent  what they would need together if they had nothing to do with each other: median and 95 % of random
               shifts in time
  normal       the same prediction from means and variances alone: too low where use comes in bursts
  pair         the lag at which two services go together most, and whether that is more than chance

Examples:
  plimsoll pooling use.csv
  plimsoll pooling use.csv --share 99.9% --max-lag 500ms --json
)");
}

}  // namespace plimsoll::cli
