#include "cli/experiment.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/durable_file.h"
#include "base/time.h"
#include "cli/experiment_definition.h"
#include "cli/fleet_tables.h"
#include "cli/views/commands.h"
#include "cli/views/terminal.h"
#include "query/wsmeter/experiment/experiment.h"
#include "query/wsmeter/experiment/report.h"

namespace plimsoll::cli {
namespace {

constexpr int64_t kHistoryNs = int64_t{7} * 24 * 3600 * 1'000'000'000;

query::ExperimentGoal goal_of(const config::ExperimentConfig& config) {
  return {.margin = config.margin_percent / 100,
          .detect = config.detect_percent / 100,
          .power = config.power_percent / 100,
          .min_instances = config.min_instances};
}

query::ExperimentText text_of(const config::ExperimentConfig& config) {
  return {.name = config.name,
          .feature = config.feature,
          .control = config.control,
          .test = config.test,
          .both = config.both,
          .ratio = config.ratio};
}

struct AskedTimes {
  std::string since;  // texts as --since takes them
  std::string until;  // empty: now
};

Result<query::Arm> ask_arm(const ExperimentOptions& options, const ChosenExperiment& chosen,
                           const std::vector<std::string>& filters, const AskedTimes& times) {
  const config::ExperimentConfig& config = chosen.config;
  TableOptions asked;
  asked.source = options.source;
  asked.parameters = chosen.frames;
  for (const auto* where : {&filters, &config.both}) {
    for (const std::string& filter : *where) {
      asked.parameters.emplace_back("where", filter);
    }
  }
  asked.parameters.emplace_back("since", times.since);
  if (!times.until.empty()) {
    asked.parameters.emplace_back("until", times.until);
  }
  asked.parameters.emplace_back("ratio", config.ratio);
  asked.parameters.emplace_back("limit", "100000000");
  const auto observations = ask_observations(asked);
  return observations ? Result<query::Arm>(query::arm_of(*observations)) : propagate(observations);
}

Result<std::vector<query::JobQuota>> ask_quotas(const ExperimentOptions& options) {
  return read_quotas(options.jobs, options.source);
}

struct Arms {
  query::Arm control;
  query::Arm test;
};

Result<Arms> ask_arms(const ExperimentOptions& options, const ChosenExperiment& chosen) {
  const config::ExperimentConfig& config = chosen.config;
  const AskedTimes times{.since = config.since, .until = config.until};
  auto control = ask_arm(options, chosen, config.control, times);
  if (!control) {
    return propagate(control, "the control");
  }
  auto test = ask_arm(options, chosen, config.test, times);
  if (!test) {
    return propagate(test, "the test");
  }
  return Arms{.control = std::move(*control), .test = std::move(*test)};
}

// What either arm did in the first half of the time: whether both were there all of it.
Status ask_early_shares(const ExperimentOptions& options, const ChosenExperiment& chosen, Arms& arms) {
  const config::ExperimentConfig& config = chosen.config;
  if (instances_of(arms.control) == 0 || instances_of(arms.test) == 0) {
    return {};  // nothing to compare, which is found out later
  }
  const int64_t from_ns = std::min(arms.control.from_ns, arms.test.from_ns);
  const int64_t to_ns = std::max(arms.control.to_ns, arms.test.to_ns);
  const AskedTimes early{.since = config.since, .until = format_time(from_ns + (to_ns - from_ns) / 2)};
  for (const auto& [filters, arm] :
       {std::pair(&config.control, &arms.control), std::pair(&config.test, &arms.test)}) {
    const auto in_half = ask_arm(options, chosen, *filters, early);
    if (!in_half) {
      return propagate(in_half);
    }
    const double all = load_of(*arm);
    arm->early_share = all > 0 ? load_of(*in_half) / all : 0;
  }
  return {};
}

// One look at how far it is.
Result<query::Progress> look(const ExperimentOptions& options, const ChosenExperiment& chosen) {
  const auto quotas = ask_quotas(options);
  if (!quotas) {
    return propagate(quotas);
  }
  const auto arms = ask_arms(options, chosen);
  return arms ? query::experiment_progress(arms->control, arms->test, *quotas, goal_of(chosen.config))
              : propagate(arms);
}

// Servers restart, and of a test that has just begun too little was observed to say how much it takes.
bool may_pass(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kNotFound;
}

// The week before the test, or until now where it has not begun.
AskedTimes history_of(const ChosenExperiment& chosen) {
  const int64_t now_ns = wall_now_ns();
  const int64_t since_ns = std::min(parse_time_ns(chosen.config.since, now_ns).value_or(now_ns), now_ns);
  const int64_t history_ns = parse_duration_ns(chosen.history).value_or(kHistoryNs);
  return {.since = format_time(since_ns - history_ns), .until = format_time(since_ns)};
}

}  // namespace

Status run_experiment_define(const ExperimentDefineOptions& options) {
  if (!is_experiment_file(options.file)) {
    return define_on_server(options);
  }
  if (is_named(options.source) || !options.owner.empty()) {
    return with_hint(fail(ErrorCode::kInvalid,
                          "--server, --data and --owner are for a name, and {} is a file", options.file),
                     "give a name without '/' that does not end in .toml");
  }
  config::ExperimentConfig config = options.config;
  if (config.since.empty()) {
    config.since = format_time(wall_now_ns());
  }
  if (config.name.empty()) {
    config.name = std::filesystem::path(options.file).stem().string();
  }
  if (auto checked = check_experiment_config(config); !checked) {
    return checked;
  }
  std::error_code error;
  if (std::filesystem::exists(options.file, error)) {
    return with_hint(fail(ErrorCode::kInvalid, "{} exists already", options.file),
                     "edit it, or give another file");
  }
  if (auto written = write_file_durably(options.file, as_bytes(config::experiment_file(config))); !written) {
    return written;
  }
  if (const auto read = choose_experiment(options.file, {}); !read) {
    std::filesystem::remove(options.file, error);
    return propagate(read, "the options do not define an experiment");
  }
  fmt::print("wrote {}. Next: plimsoll experiment plan {} --server ADDR\n", options.file, options.file);
  return {};
}

Status run_experiment_plan(const ExperimentPlanOptions& options) {
  const auto chosen = choose_experiment(options.experiment.file, options.experiment.source);
  if (!chosen) {
    return propagate(chosen);
  }
  const config::ExperimentConfig& config = chosen->config;
  const AskedTimes times =
      options.since.empty() ? history_of(*chosen) : AskedTimes{.since = options.since, .until = config.until};
  const auto quotas = ask_quotas(options.experiment);
  if (!quotas) {
    return propagate(quotas);
  }
  const auto control = ask_arm(options.experiment, *chosen, config.control, times);
  const auto table =
      control ? query::experiment_plan(*control, *quotas, goal_of(config)) : propagate(control);
  if (!table) {
    return with_hint(propagate(table, "the control arm since {}", times.since),
                     "give --since with a time from which the control arm has profiles");
  }
  return print(table, options.form);
}

Status run_experiment_watch(const ExperimentWatchOptions& options) {
  const auto chosen = choose_begun_experiment(options.experiment.file, options.experiment.source);
  if (!chosen) {
    return propagate(chosen);
  }
  while (true) {
    const auto progress = look(options.experiment, *chosen);
    if (!progress && (options.once || !may_pass(progress.error()))) {
      return propagate(progress);
    }
    if (progress && (options.once || progress->is_complete)) {
      return print(progress->table, options.form);
    }
    fmt::print("{}  {}\n", format_time(wall_now_ns()),
               progress ? progress->table.notes.front() : "not yet: " + progress.error().text());
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::seconds(options.every_s));
  }
}

Status run_experiment_report(const ExperimentReportOptions& options) {
  const auto chosen = choose_begun_experiment(options.experiment.file, options.experiment.source);
  const auto quotas = chosen ? ask_quotas(options.experiment) : propagate(chosen);
  if (!quotas) {
    return propagate(quotas);
  }
  const config::ExperimentConfig& config = chosen->config;
  auto arms = ask_arms(options.experiment, *chosen);
  if (!arms) {
    return propagate(arms);
  }
  if (auto asked = ask_early_shares(options.experiment, *chosen, *arms); !asked) {
    return asked;
  }
  const auto findings = query::experiment_findings(arms->control, arms->test, *quotas, goal_of(config));
  if (!findings) {
    return propagate(findings);
  }
  fmt::print("{}", options.as_json ? query::report_json(text_of(config), arms->control, arms->test, *findings)
                                   : query::report_markdown(text_of(config), goal_of(config), arms->control,
                                                            arms->test, *findings));
  return {};
}

}  // namespace plimsoll::cli
