#include "cli/wsmeter_command_line.h"

#include <CLI/CLI.hpp>
#include <map>

#include "cli/views/flags.h"

namespace plimsoll::cli {

void add_wsmeter_command(CLI::App& app, WsmeterPlanOptions& plan) {
  auto* wsmeter = app.add_subcommand("wsmeter", "What a change is worth, decided with the fewest machines");
  wsmeter->require_subcommand(1);
  auto* command =
      wsmeter->add_subcommand("plan", "How many instances of each job to observe, for the least cost");
  command
      ->add_option(
          "--table", plan.table,
          "CSV with the columns job, quota, mean, stddev and, as far as they are known, instances, cost "
          "(\"-\": standard input)")
      ->type_name("FILE")
      ->required();
  command
      ->add_option(
          "--margin", plan.request.margin,
          "Margin of error that the quota-weighted metric is to have, as a share of it (0.03 for 3 %)")
      ->type_name("SHARE")
      ->required()
      ->check(CLI::Range(1e-9, 1e3));
  command->add_option("--z", plan.request.z, "Deviations in a margin (default 1.96, for 95 %)")
      ->type_name("Z")
      ->check(CLI::Range(1e-3, 100.0));
  command->add_option("--least", plan.request.least, "Instances of each job at least (default 4)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  command->add_flag("--finite", plan.request.is_finite_population,
                    "The instances that there are, are all that is asked about: fewer need be observed");
  const std::map<std::string, query::Rounding> roundings{{"least-cost", query::Rounding::kLeastCost},
                                                         {"up", query::Rounding::kUp}};
  command
      ->add_option(
          "--rounding", plan.request.rounding,
          "least-cost (default): the best whole numbers; up: the best numbers, rounded up, as the WSMeter "
          "paper does")
      ->type_name("HOW")
      ->transform(CLI::CheckedTransformer(roundings, CLI::ignore_case));
  add_forms(*command, plan.form);
  command->footer(
      "Weights are shares of the quota; cost is that of observing one instance, by default its quota.\n"
      "Examples:\n"
      "  plimsoll wsmeter plan --table jobs.csv --margin 0.03\n"
      "  plimsoll wsmeter plan --table jobs.csv --margin 0.01 --finite --json\n");
}

}  // namespace plimsoll::cli
