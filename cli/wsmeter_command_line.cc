#include "cli/wsmeter_command_line.h"

#include <CLI/CLI.hpp>
#include <map>

#include "cli/choice.h"
#include "cli/views/flags.h"
#include "cli/views/terminal.h"

namespace plimsoll::cli {

namespace {

constexpr ShareRange kShares{1e-9, 1e3};

void add_detect(CLI::App& command, double& effect, double& power) {
  auto* detect = add_share(command, "--detect", effect,
                           "Instead of --margin: the effect to detect, as a share of the metric", kShares)
                     ->excludes("--margin");
  add_share(command, "--power", power, "Probability of detecting the effect of --detect (default 95%)",
            {0.5, 0.999999})
      ->needs(detect);
}

CLI::Option* add_plot(CLI::App& command, std::string& svg, const std::string& help) {
  return command.add_option("--svg", svg, help + " (SVG; -: to standard output, instead of the table)")
      ->type_name("FILE");
}

void add_plan(CLI::App& wsmeter, WsmeterPlanOptions& plan) {
  auto* command =
      wsmeter.add_subcommand("plan", "Plan how many instances per job to observe, at minimum cost");
  command
      ->add_option("--table", plan.table,
                   "CSV with the columns job, quota, mean, stddev, and optionally instances, cost (\"-\": "
                   "standard input)")
      ->type_name("FILE")
      ->required();
  add_share(*command, "--margin", plan.request.margin,
            "Margin of the quota-weighted metric, relative (3% or 0.03)", kShares);
  add_detect(*command, plan.request.detect, plan.request.power);
  command
      ->add_option("--budget", plan.request.budget,
                   "Instead of --margin: a cost limit; prints the narrowest margin within it")
      ->type_name("COST")
      ->check(CLI::PositiveNumber)
      ->excludes("--margin")
      ->excludes("--detect");
  auto* curve =
      command
          ->add_flag("--curve", plan.is_curve, "Instead of a plan: the cost of margins, from the widest on")
          ->excludes("--margin")
          ->excludes("--detect")
          ->excludes("--budget");
  add_plot(*command, plan.svg, "Also write a plot of the curve: margin against cost")->needs(curve);
  command->add_option("--z", plan.request.z, "Standard deviations in a margin (default 1.96, for 95 %)")
      ->type_name("Z")
      ->check(CLI::Range(1e-3, 100.0));
  command->add_option("--min-instances", plan.request.min_instances, "Minimum instances per job (default 4)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  command->add_flag("--finite", plan.request.is_finite_population,
                    "Treat the existing instances as the whole population: fewer need to be observed");
  const std::map<std::string, query::Rounding> roundings{{"min-cost", query::Rounding::kMinCost},
                                                         {"up", query::Rounding::kUp}};
  command
      ->add_option("--rounding", plan.request.rounding,
                   "min-cost (default): the cheapest whole numbers; up: the cheapest numbers, rounded up, as "
                   "the WSMeter paper does")
      ->type_name("HOW")
      ->transform(choice(roundings));
  add_forms(*command, plan.form);
  command->footer(
      R"(Weights are shares of the quota. Cost is the cost of observing one instance, by default its quota.
Examples:
  plimsoll wsmeter plan --table jobs.csv --margin 3%
  plimsoll wsmeter plan --table jobs.csv --margin 1% --finite --json
  plimsoll wsmeter plan --table jobs.csv --budget 200                     the margin for a budget
  plimsoll wsmeter plan --table jobs.csv --curve --csv                    for a plot
  plimsoll wsmeter plan --table jobs.csv --curve --svg curve.svg          as a plot
  plimsoll wsmeter baseline --data DIR --csv | plimsoll wsmeter plan --table - --margin 2%
)");
}

void add_platforms(CLI::App& command, std::string& current, std::string& other) {
  command.add_option("--current", current, "Platform of the current fleet")
      ->type_name("PLATFORM")
      ->required();
  command.add_option("--new", other, "Platform to evaluate")->type_name("PLATFORM")->required();
}

void add_baseline(CLI::App& wsmeter, WsmeterBaselineOptions& options) {
  auto* command =
      wsmeter.add_subcommand("baseline", "Show the jobs that make up the metric of the current fleet");
  add_fleet_tables(*command, options.tables);
  command
      ->add_option("--current", options.request.current,
                   "Platform of the current fleet (default: the only one)")
      ->type_name("PLATFORM");
  command->add_option("--new", options.request.other, "Another platform: adds the common jobs and its metric")
      ->type_name("PLATFORM");
  add_plot(*command, options.svg, "Also write a plot: quota covered by the heaviest N jobs");
  add_forms(*command, options.form);
  command->footer(
      R"(Examples:
  plimsoll wsmeter baseline --performance fleet.csv --jobs jobs.csv --current old --new new
  plimsoll wsmeter baseline --performance fleet.csv --jobs jobs.csv --current old --svg coverage.svg
  plimsoll wsmeter baseline --server 127.0.0.1:7070 --since 1d --where cluster=eu-1
)");
}

void add_evaluate(CLI::App& wsmeter, WsmeterEvaluateOptions& options) {
  auto* command = wsmeter.add_subcommand(
      "evaluate", "Estimate whether another platform is better, from test observations");
  query::EvaluationRequest& request = options.request;
  add_fleet_tables(*command, options.tables);
  add_platforms(*command, request.current, request.other);
  command->add_option("--test", options.test, "CSV of the test's performance, if in a separate file")
      ->type_name("FILE");
  command->add_flag("--current-sample", request.method.is_current_sample,
                    "The current platform's observations are a sample, not all instances");
  command->add_flag(
      "--finite", request.method.is_finite_population,
      "Treat each job's instances (column instances, else the current platform's) as the whole population");
  add_share(*command, "--margin", request.margin,
            "Required margin of the metric: prints what else to observe if it is wider", kShares);
  add_forms(*command, options.form);
  command->footer(
      R"(Example:
  plimsoll wsmeter evaluate --performance fleet.csv --test test.csv --jobs jobs.csv --current old --new new --margin 1%
)");
}

void add_feature(CLI::App& command, query::ValidationRequest& request) {
  command.add_option("--scale", request.scale, "Multiply the new platform's performance by X")
      ->type_name("X")
      ->check(CLI::Range(1e-3, 1e3));
  add_share(command, "--on", request.share,
            "Share of the quota that --scale applies to, by random jobs (default 100%)", {0, 1});
}

void add_validate(CLI::App& wsmeter, WsmeterValidateOptions& options) {
  auto* command = wsmeter.add_subcommand(
      "validate",
      "Simulate random test clusters and report how often their 95 % interval contains the true value");
  query::ValidationRequest& request = options.request;
  add_fleet_tables(*command, options.tables);
  add_platforms(*command, request.current, request.other);
  command->add_option("--trials", request.trials, "Number of test clusters (default 2000)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{100'000'000}));
  add_share(*command, "--margin", options.margin, "Margin for which test clusters are planned", kShares);
  add_detect(*command, options.detect, options.power);
  command->add_option("--min-instances", request.goal.min_instances, "Minimum instances per job (default 4)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 40));
  add_feature(*command, request);
  command->add_option("--seed", request.seed, "Seed of the random numbers (default 1)")->type_name("S");
  const std::map<std::string, query::ClusterModel> models{{"job", query::ClusterModel::kJob},
                                                          {"machine", query::ClusterModel::kMachine},
                                                          {"both", query::ClusterModel::kBoth}};
  command
      ->add_option("--model", request.model,
                   "Clusters of instances per job (default), of whole machines, or both")
      ->type_name("job|machine|both")
      ->transform(choice(models));
  add_forms(*command, options.form);
  command->footer(
      R"(Examples:
  plimsoll wsmeter validate --performance p.csv.gz --jobs jobs.csv --current A --new B --margin 2%
  plimsoll wsmeter validate --performance p.csv.gz --jobs jobs.csv --current A --new A --detect 1% --scale 1.05 --on 20%
)");
}

void add_cluster(CLI::App& wsmeter, WsmeterClusterOptions& options) {
  auto* command =
      wsmeter.add_subcommand("cluster", "Choose random machines for a test, until they cover enough jobs");
  query::ClusterRequest& request = options.request;
  add_fleet_tables(*command, options.tables);
  command
      ->add_option("--current", request.current,
                   "Platform of the machines to choose from (default: the only one)")
      ->type_name("PLATFORM");
  command
      ->add_option("--min-instances", request.min_instances,
                   "A job counts as covered with this many instances (default 4)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  add_share(*command, "--coverage", request.coverage,
            "Share of the quota that the covered jobs must have (default 90%)", {1e-6, 1});
  command->add_option("--tries", request.tries, "Random clusters to try; the best is shown (default 1000)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{10'000'000}));
  command->add_option("--seed", request.seed, "Seed of the random numbers (default 1)")->type_name("S");
  add_forms(*command, options.form);
  command->footer(
      R"(Whole machines include instances that the test does not need. Where instances can be moved one by one, `plan` is
cheaper.
Example:
  plimsoll wsmeter cluster --performance fleet.csv --jobs jobs.csv --current old --min-instances 4 --coverage 80%
)");
}

void add_observations(CLI::App& wsmeter, TableOptions& options) {
  auto* command = wsmeter.add_subcommand("observations", query::find_view("observations")->summary);
  add_source(*command, options.source);
  add_forms(*command, options.form);
  add_parameters(*command, query::find_view("observations")->parameters, options.parameters);
  command->footer(
      R"(Averages over the selected time: select hours rather than seconds. The CSV is the --performance of the other
commands.
Examples:
  plimsoll wsmeter observations --data DIR --since 1d --csv > fleet.csv
  plimsoll wsmeter observations --server 127.0.0.1:7070 --ratio instructions/cpu-clock   instructions per ns
)");
}

}  // namespace

void add_wsmeter_command(CLI::App& app, WsmeterOptions& options) {
  auto* wsmeter =
      app.add_subcommand("wsmeter", "Measure the effect of a platform or change with few machines (WSMeter)");
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
               : fail(ErrorCode::kInvalid, "observations: --server ADDR or --data DIR is required");
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
