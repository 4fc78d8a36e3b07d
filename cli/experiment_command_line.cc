#include "cli/experiment_command_line.h"

#include <CLI/CLI.hpp>

#include "cli/experiment_definition.h"
#include "cli/views/flags.h"

namespace plimsoll::cli {
namespace {

void add_file(CLI::App& command, std::string& file) {
  command
      .add_option("experiment", file, "Its file, which ends in .toml or has a '/'; or its name on the server")
      ->type_name("FILE|NAME")
      ->required();
}

void add_experiment(CLI::App& command, ExperimentOptions& options) {
  add_file(command, options.file);
  add_source(command, options.source);
  command
      .add_option("--jobs", options.jobs,
                  "CSV with the columns job, quota, instead of the quotas that daemons report")
      ->type_name("FILE");
}

void add_filter(CLI::App& command, const std::string& flag, std::vector<std::string>& filters,
                const std::string& help) {
  command.add_option(flag, filters, help + "; may be repeated")
      ->type_name("PREDICATE")
      ->allow_extra_args(false)
      ->take_all();
}

void add_define(CLI::App& experiment, ExperimentDefineOptions& options) {
  auto* command = experiment.add_subcommand(
      "define", "Define an experiment on the server by its name, or write the file that defines it");
  config::ExperimentConfig& config = options.config;
  add_file(*command, options.file);
  add_source(*command, options.source, [&options] { return !is_experiment_file(options.file); });
  auto* name =
      command->add_option("--name", config.name, "Of a file: name in reports (default: name of the file)")
          ->type_name("NAME");
  command->add_option("--owner", options.owner, "On a server: owner (default: name of your token)")
      ->type_name("NAME")
      ->excludes(name);
  command->add_option("--feature", config.feature, "Feature under test, in a sentence")
      ->type_name("TEXT")
      ->required();
  add_filter(*command, "--control", config.control,
             "Filter of instances without the feature, such as revision=41, as --where of `top`");
  add_filter(*command, "--test", config.test, "Filter of instances with the feature");
  add_filter(*command, "--where", config.both, "Filter of both arms");
  command->get_option("--control")->required();
  command->get_option("--test")->required();
  command
      ->add_option("--since", config.since,
                   "When the feature was enabled: RFC 3339 (default: now in a file, not yet on a server)")
      ->type_name("TIME");
  command->add_option("--until", config.until, "End of the test (default: time of the command)")
      ->type_name("TIME");
  command->add_option("--ratio", config.ratio, "Performance metric (default: ipc); higher is better")
      ->type_name("NUM/DEN");
  constexpr double kPercent = 100;
  constexpr ShareRange kShares{1e-8, 10};
  auto* margin = add_share(*command, "--margin", config.margin_percent, "Margin of the metric (default 1%)",
                           kShares, kPercent);
  auto* detect = add_share(*command, "--detect", config.detect_percent,
                           "Instead of --margin: the change to detect", kShares, kPercent)
                     ->excludes(margin);
  add_share(*command, "--power", config.power_percent,
            "Probability of detecting the change of --detect (default 95%)", {0.5, 0.99}, kPercent)
      ->needs(detect);
  command->add_option("--min-instances", config.min_instances, "Minimum instances per job (default 4)")
      ->type_name("N")
      ->check(CLI::Range(int64_t{2}, int64_t{1'000'000}));
  command->footer(
      R"(On a server the definition takes the place of an earlier one of that name. Once the experiment has begun, only
--until, --feature and --owner may differ.

Examples:
  plimsoll experiment define pages --server 127.0.0.1:7070 --feature "huge pages for the allocator" --control revision=41 --test revision=42 --detect 1%
  plimsoll experiment define pages.toml --feature "huge pages for the allocator" --control revision=41 --test revision=42 --detect 1%
)");
}

void add_list(CLI::App& experiment, ExperimentListOptions& options) {
  auto* command = experiment.add_subcommand("list", "List the experiments that are defined on the server");
  add_source(*command, options.source);
  add_forms(*command, options.form);
}

void add_withdraw(CLI::App& experiment, ExperimentWithdrawOptions& options) {
  auto* command =
      experiment.add_subcommand("withdraw", "Withdraw the definition of an experiment from the server");
  command->add_option("name", options.name, "Name of the experiment")->type_name("NAME")->required();
  add_source(*command, options.source);
}

void add_plan(CLI::App& experiment, ExperimentPlanOptions& options) {
  auto* command = experiment.add_subcommand(
      "plan", "Plan how many instances per job need the feature, from the control arm so far");
  add_experiment(*command, options.experiment);
  command
      ->add_option("--since", options.since,
                   "Start of the control arm's data (default: a week before the test)")
      ->type_name("TIME");
  add_forms(*command, options.form);
}

void add_watch(CLI::App& experiment, ExperimentWatchOptions& options) {
  auto* command = experiment.add_subcommand(
      "watch",
      "Show progress towards the planned number of observations (results are hidden on purpose: see report)");
  add_experiment(*command, options.experiment);
  command->add_option("--every", options.every_s, "Seconds between updates (default 60)")
      ->type_name("SECONDS")
      ->check(CLI::Range(int64_t{1}, int64_t{86'400}));
  command->add_flag("--once", options.once, "Print the progress of all jobs once");
  add_forms(*command, options.form);
  command->footer(
      R"(Checking the result repeatedly, and stopping when it looks good, finds changes that do not exist. Run `report` at
the end.
)");
}

void add_report(CLI::App& experiment, ExperimentReportOptions& options) {
  auto* command = experiment.add_subcommand("report", "Report the result, as Markdown or JSON");
  add_experiment(*command, options.experiment);
  command->add_flag("--json", options.as_json, "Print a JSON document");
}

void add_percentiles(CLI::App& experiment, ExperimentPercentilesOptions& options) {
  auto* command = experiment.add_subcommand(
      "percentiles", "Compare percentiles of latency or CPU time of two arms, from a file");
  command
      ->add_option(
          "file", options.file,
          "CSV with the columns time, arm, user, value, and optionally place, count; or JSON objects of "
          "the same (\"-\": standard input)")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--control", options.control, "Name of the control in the column arm (default: control)")
      ->type_name("NAME");
  command->add_option("--test", options.test, "Name of the test in the column arm (default: test)")
      ->type_name("NAME");
  command
      ->add_option("--percentile", options.percentiles,
                   "Percentile to compare; may be repeated (default: 50, 95 and 99)")
      ->type_name("P")
      ->allow_extra_args(false)
      ->take_all()
      ->check(CLI::Range(0.1, 99.99));
  command
      ->add_option("--block", options.block,
                   "About three times as long as incidents of one arm last (default 16h)")
      ->type_name("DURATION");
  constexpr ShareRange kChanges{1e-4, 10};
  add_share(*command, "--detect", options.detect,
            "Report \"too few users\" or \"too little time\" unless a change this large would be found",
            kChanges);
  add_forms(*command, options.form);
  command->footer(
      R"(A record is one request, or `count` requests of a user that took as long: time (RFC 3339, or seconds since 1970), arm,
user, value (latency or CPU time in any unit), place (a cell, a zone, a kind of machine). Arms are compared within each
hour and place. Values of a user depend on each other, and so do values of a block of time: the 95 % interval counts
users and blocks, not requests. It requires three blocks in which both arms have values, and 30 users
of each arm beyond the percentile.

Examples:
  plimsoll experiment percentiles latencies.csv
  plimsoll experiment percentiles latencies.csv --control r41 --test r42 --detect 5%
  plimsoll experiment percentiles latencies.json --percentile 99.9 --block 1d --json
)");
}

}  // namespace

void add_experiment_command(CLI::App& app, ExperimentCommands& options) {
  auto* experiment = app.add_subcommand(
      "experiment", "Test whether a feature improves performance: define, plan, watch, report, percentiles");
  experiment->require_subcommand(1);
  add_define(*experiment, options.define);
  add_list(*experiment, options.list);
  add_withdraw(*experiment, options.withdraw);
  add_plan(*experiment, options.plan);
  add_watch(*experiment, options.watch);
  add_report(*experiment, options.report);
  add_percentiles(*experiment, options.percentiles);
  experiment->footer(
      R"(An experiment is defined on a server, for all its users, or in a file.

  plimsoll experiment define pages --server 127.0.0.1:7070 --feature "huge pages" --control revision=41 --test revision=42
  plimsoll experiment list --server 127.0.0.1:7070
  plimsoll experiment plan pages --server 127.0.0.1:7070
  plimsoll experiment watch pages --server 127.0.0.1:7070
  plimsoll experiment report pages --server 127.0.0.1:7070 > pages.md
  plimsoll experiment withdraw pages --server 127.0.0.1:7070

  plimsoll experiment define pages.toml --feature "huge pages" --control revision=41 --test revision=42
  plimsoll experiment plan pages.toml --server 127.0.0.1:7070

  plimsoll experiment percentiles latencies.csv
)");
}

Status run_experiment_command(const CLI::App& app, const ExperimentCommands& options) {
  const CLI::App* experiment = app.get_subcommand("experiment");
  if (experiment->got_subcommand("define")) {
    return run_experiment_define(options.define);
  }
  if (experiment->got_subcommand("list")) {
    return run_experiment_list(options.list);
  }
  if (experiment->got_subcommand("withdraw")) {
    return run_experiment_withdraw(options.withdraw);
  }
  if (experiment->got_subcommand("plan")) {
    return run_experiment_plan(options.plan);
  }
  if (experiment->got_subcommand("percentiles")) {
    return run_experiment_percentiles(options.percentiles);
  }
  return experiment->got_subcommand("watch") ? run_experiment_watch(options.watch)
                                             : run_experiment_report(options.report);
}

}  // namespace plimsoll::cli
