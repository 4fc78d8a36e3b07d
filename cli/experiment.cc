#include "cli/experiment.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/durable_file.h"
#include "base/time.h"
#include "cli/fleet_tables.h"
#include "cli/views/commands.h"
#include "cli/views/terminal.h"
#include "query/selection/predicate.h"
#include "query/wsmeter/experiment/experiment.h"
#include "query/wsmeter/experiment/report.h"

namespace plimsoll::cli {
namespace {

constexpr int64_t kHistoryNs = int64_t{7} * 24 * 3600 * 1'000'000'000;

Status check_filters(const config::ExperimentConfig& config) {
  for (const auto* filters : {&config.control, &config.test, &config.both}) {
    for (const std::string& filter : *filters) {
      if (const auto parsed = query::Predicate::parse(filter); !parsed) {
        return propagate(parsed, "the filter {}", filter);
      }
    }
  }
  return {};
}

query::ExperimentGoal goal_of(const config::ExperimentConfig& config) {
  return {.margin = config.margin_percent / 100,
          .detect = config.detect_percent / 100,
          .power = config.power_percent / 100,
          .least = config.least};
}

query::ExperimentText text_of(const config::ExperimentConfig& config) {
  return {.name = config.name,
          .feature = config.feature,
          .control = config.control,
          .test = config.test,
          .both = config.both,
          .ratio = config.ratio};
}

// Times are texts as --since takes them; empty: not asked for.
Result<query::Arm> ask_arm(const ExperimentOptions& options, const config::ExperimentConfig& config,
                           const std::vector<std::string>& filters, const std::string& since,
                           const std::string& until) {
  TableOptions asked;
  asked.source = options.source;
  for (const auto* where : {&filters, &config.both}) {
    for (const std::string& filter : *where) {
      asked.parameters.emplace_back("where", filter);
    }
  }
  if (!since.empty()) {
    asked.parameters.emplace_back("since", since);
  }
  if (!until.empty()) {
    asked.parameters.emplace_back("until", until);
  }
  asked.parameters.emplace_back("ratio", config.ratio);
  const auto table = ask_observations(asked);
  return table ? query::arm_of(*table) : propagate(table);
}

Result<std::vector<query::JobQuota>> ask_quotas(const ExperimentOptions& options) {
  const auto text = read_jobs_table(options.jobs, options.source);
  return text ? query::read_job_quotas(*text) : propagate(text);
}

struct Arms {
  query::Arm control;
  query::Arm test;
};

Result<Arms> ask_arms(const ExperimentOptions& options, const config::ExperimentConfig& config) {
  auto control = ask_arm(options, config, config.control, config.since, config.until);
  if (!control) {
    return propagate(control, "the control");
  }
  auto test = ask_arm(options, config, config.test, config.since, config.until);
  if (!test) {
    return propagate(test, "the test");
  }
  return Arms{.control = std::move(*control), .test = std::move(*test)};
}

// One look at how far it is.
Result<query::Progress> look(const ExperimentOptions& options, const config::ExperimentConfig& config) {
  const auto quotas = ask_quotas(options);
  if (!quotas) {
    return propagate(quotas);
  }
  const auto arms = ask_arms(options, config);
  return arms ? query::experiment_progress(arms->control, arms->test, *quotas, goal_of(config))
              : propagate(arms);
}

void print(const query::Table& table, query::TableForm form) {
  fmt::print("{}", query::to_form(table, form, style_of_output()));
}

// The time at which the week before the test begins.
Result<std::string> history_of(const config::ExperimentConfig& config) {
  const auto since_ns = parse_time_ns(config.since, wall_now_ns());
  return since_ns ? Result<std::string>(format_time(*since_ns - kHistoryNs))
                  : with_hint(fail(ErrorCode::kInvalid, "time.since, \"{}\", is no time", config.since),
                              "such as 2026-11-24T12:00:00Z, or 7d");
}

}  // namespace

Status run_experiment_define(const ExperimentDefineOptions& options) {
  config::ExperimentConfig config = options.config;
  if (auto checked = check_filters(config); !checked) {
    return checked;
  }
  if (std::filesystem::exists(options.file)) {
    return with_hint(fail(ErrorCode::kInvalid, "{} is there already", options.file),
                     "edit it, or name another file");
  }
  if (config.since.empty()) {
    config.since = format_time(wall_now_ns());
  }
  if (config.name.empty()) {
    config.name = std::filesystem::path(options.file).stem().string();
  }
  auto written = write_file_durably(options.file, as_bytes(config::experiment_file(config)));
  if (written) {
    fmt::print("{} defines it. Next: plimsoll experiment plan {} --server ADDR\n", options.file,
               options.file);
  }
  return written;
}

Status run_experiment_plan(const ExperimentPlanOptions& options) {
  const auto config = config::load_experiment(options.experiment.file);
  if (!config) {
    return propagate(config);
  }
  const auto since = options.since.empty() ? history_of(*config) : Result<std::string>(options.since);
  const auto quotas = since ? ask_quotas(options.experiment) : propagate(since);
  if (!quotas) {
    return propagate(quotas);
  }
  const auto control = ask_arm(options.experiment, *config, config->control, *since, config->until);
  const auto table =
      control ? query::experiment_plan(*control, *quotas, goal_of(*config)) : propagate(control);
  if (!table) {
    return propagate(table, "the control since {}", *since);
  }
  print(*table, options.form);
  return {};
}

Status run_experiment_watch(const ExperimentWatchOptions& options) {
  const auto config = config::load_experiment(options.experiment.file);
  if (!config) {
    return propagate(config);
  }
  while (true) {
    const auto progress = look(options.experiment, *config);
    if (!progress) {
      return propagate(progress);
    }
    if (options.once || progress->is_complete) {
      print(progress->table, options.form);
      return {};
    }
    fmt::print("{}  {}\n", format_time(wall_now_ns()), progress->table.notes.front());
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::seconds(options.every_s));
  }
}

Status run_experiment_report(const ExperimentReportOptions& options) {
  const auto config = config::load_experiment(options.experiment.file);
  const auto quotas = config ? ask_quotas(options.experiment) : propagate(config);
  if (!quotas) {
    return propagate(quotas);
  }
  const auto arms = ask_arms(options.experiment, *config);
  if (!arms) {
    return propagate(arms);
  }
  const auto findings = query::experiment_findings(arms->control, arms->test, *quotas, goal_of(*config));
  if (!findings) {
    return propagate(findings);
  }
  fmt::print("{}", options.as_json
                       ? query::report_json(text_of(*config), arms->control, arms->test, *findings)
                       : query::report_markdown(text_of(*config), goal_of(*config), arms->control, arms->test,
                                                *findings));
  return {};
}

}  // namespace plimsoll::cli
