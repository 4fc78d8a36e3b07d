#include "cli/assign_command_line.h"

#include <CLI/CLI.hpp>
#include <map>

#include "cli/choice.h"
#include "cli/views/flags.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kFooter =
    R"(Places the load of all jobs on platforms at the minimum total cost, within the platforms' capacities. Capacity has
the unit of cost x load: cycles per second with cpi. Where clock rates differ, give ns_per_instruction: capacity is
then CPU-nanoseconds per second, or the column cpus. Notes state the cost of the plan, its saving, and how many
placements are certain: correct even if costs differ by their margins. If no placement fits, the error names the
jobs and platforms that are short.

Example: costs.csv        jobs.csv   platforms.csv
  job,platform,cpi,margin job,load   platform,capacity
  web,old,2.0,0.1         web,1e11   old,1e12
  web,new,1.0,0.05        db,1e11    new,1.2e11
  db,old,1.1,0.05
  db,new,1.0,0.05

  plimsoll assign --costs costs.csv --jobs jobs.csv --platforms platforms.csv
  plimsoll assign --costs costs.csv --jobs jobs.csv --platforms platforms.csv --today today.csv --by move
  plimsoll assign --costs costs.csv --jobs jobs.csv --platforms platforms.csv --by platform --json
  plimsoll assign --costs costs.csv --jobs jobs.csv --platforms platforms.csv --max-unknown-cost 1.5
  plimsoll assign --server 127.0.0.1:7070 --since 7d --platforms platforms.csv
      # measures costs, loads and today's placement
  plimsoll assign --server 127.0.0.1:7070 --since 7d --measured --csv > costs.csv
      # prints what was measured
)";

CLI::Option* add_file(CLI::App& command, const std::string& flag, std::string& path,
                      const std::string& help) {
  return command.add_option(flag, path, "CSV with the columns " + help)->type_name("FILE");
}

}  // namespace

void add_assign_command(CLI::App& app, AssignOptions& options) {
  auto* command = app.add_subcommand("assign", "Plan which jobs run on which platform, for minimum CPU time");
  add_file(*command, "--costs", options.costs,
           "job, platform, cpi or ns_per_instruction, and optionally margin (95 %, same unit)");
  add_file(*command, "--jobs", options.jobs, "job, load (instructions per second)");
  add_file(*command, "--platforms", options.platforms,
           "platform, capacity (or, with ns_per_instruction, cpus)");
  add_file(*command, "--today", options.today,
           "job, platform, load: today's placement, to compute savings and moves");
  add_source(*command, options.measured.source, [&options] {
    return options.is_measured_wanted || options.costs.empty() || options.jobs.empty();
  });
  add_filters(*command, options.measured.parameters);
  command->add_flag("--measured", options.is_measured_wanted,
                    "With --data or --server: print measured costs and loads instead of a plan");
  command
      ->add_option("--max-unknown-cost", options.max_unknown_cost,
                   "Assume that pairs of job and platform without a cost cost at most FACTOR times the job's "
                   "maximum known cost (default: such pairs are not used)")
      ->type_name("FACTOR")
      ->check(CLI::Range(1.0, 1e6));
  const std::map<std::string, query::PlacementRows> rows{{"placement", query::PlacementRows::kPlacement},
                                                         {"platform", query::PlacementRows::kPlatform},
                                                         {"move", query::PlacementRows::kMove}};
  command
      ->add_option(
          "--by", options.rows,
          "Rows: placement (default), platform (capacity used, shadow prices) or move (changes to --today)")
      ->type_name("ROWS")
      ->transform(choice(rows));
  add_forms(*command, options.form);
  command->footer(kFooter);
}

}  // namespace plimsoll::cli
