#include "cli/wsmeter_command_line.h"

#include <CLI/CLI.hpp>
#include <map>

#include "cli/views/flags.h"

namespace plimsoll::cli {

namespace {

constexpr ShareRange kShares{1e-9, 1e3};

void add_detect(CLI::App& command, double& effect, double& power) {
  auto* detect =
      add_share(command, "--detect", effect,
                "In place of --margin: an effect that is to be found, as a share of the metric", kShares)
          ->excludes("--margin");
  add_share(command, "--power", power,
            "Probability with which --detect's effect is to be found (default 95%)", {0.5, 0.999999})
      ->needs(detect);
}

void add_plan(CLI::App& wsmeter, WsmeterPlanOptions& plan) {
  auto* command =
      wsmeter.add_subcommand("plan", "How many instances of each job to observe, for the least cost");
  command
      ->add_option(
          "--table", plan.table,
          "CSV with the columns job, quota, mean, stddev and, as far as they are known, instances, cost "
          "(\"-\": standard input)")
      ->type_name("FILE")
      ->required();
  add_share(*command, "--margin", plan.request.margin,
            "Margin of error that the quota-weighted metric is to have, as a share of it (3% or 0.03)",
            kShares);
  add_detect(*command, plan.request.detect, plan.request.power);
  command
      ->add_option("--budget", plan.request.budget,
                   "In place of --margin: what observing may cost, for the narrowest margin that it buys")
      ->type_name("COST")
      ->check(CLI::PositiveNumber)
      ->excludes("--margin")
      ->excludes("--detect");
  command
      ->add_flag("--curve", plan.is_curve, "In place of a plan: what margins cost, from the loosest one on")
      ->excludes("--margin")
      ->excludes("--detect")
      ->excludes("--budget");
  command->add_option("--z", plan.request.z, "Deviations in a margin (default 1.96, for 95 %)")
      ->type_name("Z")
      ->check(CLI::Range(1e-3, 100.0));
  command->add_option("--min-instances", plan.request.min_instances, "Minimum instances per job (default 4)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  command->add_flag("--finite", plan.request.is_finite_population,
                    "The instances that there are, are all that is asked about: fewer need be observed");
  const std::map<std::string, query::Rounding> roundings{{"min-cost", query::Rounding::kMinCost},
                                                         {"up", query::Rounding::kUp}};
  command
      ->add_option(
          "--rounding", plan.request.rounding,
          "min-cost (default): the best whole numbers; up: the best numbers, rounded up, as the WSMeter "
          "paper does")
      ->type_name("HOW")
      ->transform(CLI::CheckedTransformer(roundings, CLI::ignore_case));
  add_forms(*command, plan.form);
  command->footer(
      "Weights are shares of the quota; cost is that of observing one instance, by default its quota.\n"
      "Examples:\n"
      "  plimsoll wsmeter plan --table jobs.csv --margin 3%\n"
      "  plimsoll wsmeter plan --table jobs.csv --margin 1% --finite --json\n"
      "  plimsoll wsmeter plan --table jobs.csv --budget 200                     which margin that buys\n"
      "  plimsoll wsmeter plan --table jobs.csv --curve --csv                    to draw\n"
      "  plimsoll wsmeter baseline --data DIR --csv | plimsoll wsmeter plan --table - --margin 2%\n");
}

void add_platforms(CLI::App& command, std::string& current, std::string& other) {
  command.add_option("--current", current, "Platform of the current fleet")
      ->type_name("PLATFORM")
      ->required();
  command.add_option("--new", other, "Platform that is to be judged")->type_name("PLATFORM")->required();
}

void add_baseline(CLI::App& wsmeter, WsmeterBaselineOptions& options) {
  auto* command = wsmeter.add_subcommand("baseline", "Which jobs the metric of the current fleet is made of");
  add_fleet_tables(*command, options.tables);
  command
      ->add_option("--current", options.request.current,
                   "Platform of the current fleet (default: the only one there is)")
      ->type_name("PLATFORM");
  command->add_option("--new", options.request.other, "Another platform: jobs in common, and its metric")
      ->type_name("PLATFORM");
  add_forms(*command, options.form);
  command->footer(
      "Examples:\n"
      "  plimsoll wsmeter baseline --performance fleet.csv --jobs jobs.csv --current old --new new\n"
      "  plimsoll wsmeter baseline --server 127.0.0.1:7070 --since 1d --where cluster=eu-1\n");
}

void add_evaluate(CLI::App& wsmeter, WsmeterEvaluateOptions& options) {
  auto* command =
      wsmeter.add_subcommand("evaluate", "Whether another platform is better, by test observations");
  query::EvaluationRequest& request = options.request;
  add_fleet_tables(*command, options.tables);
  add_platforms(*command, request.current, request.other);
  command
      ->add_option("--test", options.test, "CSV of the test's performance, where it is in a file of its own")
      ->type_name("FILE");
  command->add_flag("--current-sample", request.method.is_current_sample,
                    "The current platform's observations are a sample, not all there are");
  command->add_flag(
      "--finite", request.method.is_finite_population,
      "Each job's instances (column instances, else those of the current platform) are all that is "
      "asked about");
  add_share(*command, "--margin", request.margin,
            "Margin that the metric is to have: says what more to observe where it has not", kShares);
  add_forms(*command, options.form);
  command->footer(
      "Example:\n"
      "  plimsoll wsmeter evaluate --performance fleet.csv --test test.csv --jobs jobs.csv --current old "
      "--new new --margin 1%\n");
}

void add_feature(CLI::App& command, query::ValidationRequest& request) {
  command.add_option("--scale", request.scale, "Multiplies the new platform's performance by it")
      ->type_name("X")
      ->check(CLI::Range(1e-3, 1e3));
  add_share(command, "--on", request.share,
            "Share of the quota, of random jobs, that --scale applies to (default 100%)", {0, 1});
}

void add_validate(CLI::App& wsmeter, WsmeterValidateOptions& options) {
  auto* command =
      wsmeter.add_subcommand("validate", "How often the intervals of random test clusters hold the truth");
  query::ValidationRequest& request = options.request;
  add_fleet_tables(*command, options.tables);
  add_platforms(*command, request.current, request.other);
  command->add_option("--trials", request.trials, "Test clusters that are drawn (default 2000)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{100'000'000}));
  add_share(*command, "--margin", options.margin, "Margin that test clusters are planned for", kShares);
  add_detect(*command, options.detect, options.power);
  command->add_option("--min-instances", request.goal.min_instances, "Minimum instances per job (default 4)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 40));
  add_feature(*command, request);
  command->add_option("--seed", request.seed, "Of the random numbers (default 1)")->type_name("S");
  const std::map<std::string, query::ClusterModel> models{{"job", query::ClusterModel::kJob},
                                                          {"machine", query::ClusterModel::kMachine},
                                                          {"both", query::ClusterModel::kBoth}};
  command
      ->add_option("--model", request.model, "Clusters made job by job (default), of whole machines, or both")
      ->type_name("job|machine|both")
      ->transform(CLI::CheckedTransformer(models, CLI::ignore_case));
  add_forms(*command, options.form);
  command->footer(
      "Examples:\n"
      "  plimsoll wsmeter validate --performance p.csv.gz --jobs jobs.csv --current A --new B --margin 2%\n"
      "  plimsoll wsmeter validate --performance p.csv.gz --jobs jobs.csv --current A --new A --detect 1% "
      "--scale 1.05 --on 20%\n");
}

void add_cluster(CLI::App& wsmeter, WsmeterClusterOptions& options) {
  auto* command = wsmeter.add_subcommand(
      "cluster", "Which machines to take for a test: random ones, until they run enough of most jobs");
  query::ClusterRequest& request = options.request;
  add_fleet_tables(*command, options.tables);
  command
      ->add_option("--current", request.current,
                   "Platform of the machines to choose from (default: the only one there is)")
      ->type_name("PLATFORM");
  command
      ->add_option("--min-instances", request.min_instances,
                   "A job counts as covered with this many instances (default 4)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  add_share(*command, "--coverage", request.coverage,
            "Share of the quota that covered jobs are to have (default 90%)", {1e-6, 1});
  command
      ->add_option("--tries", request.tries,
                   "Clusters of random machines, of which the best is shown (default 1000)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{10'000'000}));
  command->add_option("--seed", request.seed, "Of the random numbers (default 1)")->type_name("S");
  add_forms(*command, options.form);
  command->footer(
      "Whole machines bring instances that nobody needs: job by job, as `plan` says, is cheaper where "
      "instances can "
      "be\nmoved one by one.\n"
      "Example:\n"
      "  plimsoll wsmeter cluster --performance fleet.csv --jobs jobs.csv --current old --min-instances 4 "
      "--coverage "
      "80%\n");
}

void add_observations(CLI::App& wsmeter, TableOptions& options) {
  auto* command = wsmeter.add_subcommand("observations", query::find_view("observations")->summary);
  add_source(*command, options.source);
  add_forms(*command, options.form);
  add_parameters(*command, query::find_view("observations")->parameters, options.parameters);
  command->footer(
      "Averages over all of the time that is selected: hours say more than seconds. As CSV it is what the "
      "other "
      "commands\ntake as --performance.\n"
      "Examples:\n"
      "  plimsoll wsmeter observations --data DIR --since 1d --csv > fleet.csv\n"
      "  plimsoll wsmeter observations --server 127.0.0.1:7070 --ratio instructions/cpu-clock   "
      "instructions per ns\n");
}

}  // namespace

void add_wsmeter_command(CLI::App& app, WsmeterOptions& options) {
  auto* wsmeter = app.add_subcommand("wsmeter", "What a change is worth, decided with the fewest machines");
  wsmeter->require_subcommand(1);
  add_plan(*wsmeter, options.plan);
  add_baseline(*wsmeter, options.baseline);
  add_evaluate(*wsmeter, options.evaluate);
  add_validate(*wsmeter, options.validate);
  add_cluster(*wsmeter, options.cluster);
  add_observations(*wsmeter, options.observations);
}

Status run_wsmeter_command(const CLI::App& app, const WsmeterOptions& options) {
  const CLI::App* wsmeter = app.get_subcommand("wsmeter");
  if (wsmeter->got_subcommand("observations")) {
    return is_named(options.observations.source)
               ? print(ask_table("observations", options.observations), options.observations.form)
               : fail(ErrorCode::kInvalid, "observations: say where to look: --server ADDR or --data DIR");
  }
  if (wsmeter->got_subcommand("cluster")) {
    return run_wsmeter_cluster(options.cluster);
  }
  if (wsmeter->got_subcommand("baseline")) {
    return run_wsmeter_baseline(options.baseline);
  }
  if (wsmeter->got_subcommand("evaluate")) {
    return run_wsmeter_evaluate(options.evaluate);
  }
  return wsmeter->got_subcommand("validate") ? run_wsmeter_validate(options.validate)
                                             : run_wsmeter_plan(options.plan);
}

}  // namespace plimsoll::cli
