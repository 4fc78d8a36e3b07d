#include "cli/assign_command_line.h"

#include <CLI/CLI.hpp>
#include <map>

#include "cli/views/flags.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kFooter =
    "Puts every job's load where all of it together costs least, within the platforms' capacities. Capacity "
    "has the\nunit of cost x load: cycles a second with cpi; with ns_per_instruction, which is needed where "
    "clock rates differ,\nCPU-nanoseconds a second, or the column cpus in its place. Notes say what the plan "
    "costs and saves, and how many\nplacements are certain: right even where costs are off by their margins. "
    "Where nothing fits, the error names the\njobs and platforms to blame.\n\n"
    "Example: costs.csv        jobs.csv   platforms.csv\n"
    "  job,platform,cpi,margin job,load   platform,capacity\n"
    "  web,old,2.0,0.1         web,1e11   old,1e12\n"
    "  web,new,1.0,0.05        db,1e11    new,1.2e11\n"
    "  db,old,1.1,0.05\n"
    "  db,new,1.0,0.05\n\n"
    "  plimsoll assign --costs costs.csv --jobs jobs.csv --platforms platforms.csv\n"
    "  plimsoll assign --costs costs.csv --jobs jobs.csv --platforms platforms.csv --today today.csv --by "
    "move\n"
    "  plimsoll assign --costs costs.csv --jobs jobs.csv --platforms platforms.csv --by platform --json\n"
    "  plimsoll assign --costs costs.csv --jobs jobs.csv --platforms platforms.csv --max-unknown-cost 1.5\n"
    "  plimsoll assign --server 127.0.0.1:7070 --since 7d --platforms platforms.csv       costs, loads and "
    "today's "
    "assignment as measured\n"
    "  plimsoll assign --server 127.0.0.1:7070 --since 7d --measured --csv > costs.csv    these, to look "
    "at\n";

CLI::Option* add_file(CLI::App& command, const std::string& flag, std::string& path,
                      const std::string& help) {
  return command.add_option(flag, path, "CSV with the columns " + help)->type_name("FILE");
}

}  // namespace

void add_assign_command(CLI::App& app, AssignOptions& options) {
  auto* command = app.add_subcommand("assign", "Which job belongs on which platform, for the least CPU time");
  add_file(*command, "--costs", options.costs,
           "job, platform, cpi or ns_per_instruction, and, where known, margin (95 %, in the same unit)");
  add_file(*command, "--jobs", options.jobs, "job, load (instructions a second)");
  add_file(*command, "--platforms", options.platforms,
           "platform, capacity (or, with ns_per_instruction, cpus)");
  add_file(*command, "--today", options.today,
           "job, platform, load: today's placement, for what the plan saves and which jobs move");
  add_source(*command, options.measured.source, [&options] {
    return options.is_measured_wanted || options.costs.empty() || options.jobs.empty();
  });
  add_filters(*command, options.measured.parameters);
  command->add_flag("--measured", options.is_measured_wanted,
                    "With --data or --server: show what jobs cost and do on platforms, in place of a plan");
  command
      ->add_option(
          "--max-unknown-cost", options.max_unknown_cost,
          "Pairs of job and platform without a cost may be used, at that many times the most that the "
          "job is known to cost (default: they are left out)")
      ->type_name("FACTOR")
      ->check(CLI::Range(1.0, 1e6));
  const std::map<std::string, query::PlacementRows> rows{{"placement", query::PlacementRows::kPlacement},
                                                         {"platform", query::PlacementRows::kPlatform},
                                                         {"move", query::PlacementRows::kMove}};
  command
      ->add_option("--by", options.rows,
                   "placement (default): what runs where; platform: use and shadow prices; move: away from "
                   "--today")
      ->type_name("ROWS")
      ->transform(CLI::CheckedTransformer(rows, CLI::ignore_case));
  add_forms(*command, options.form);
  command->footer(kFooter);
}

}  // namespace plimsoll::cli
