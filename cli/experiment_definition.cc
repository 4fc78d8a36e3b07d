#include "cli/experiment_definition.h"

#include <fmt/core.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "base/printable.h"
#include "base/share.h"
#include "base/time.h"
#include "cli/views/commands.h"
#include "cli/views/terminal.h"
#include "http/client.h"
#include "query/operations/experiments.h"
#include "query/selection/predicate.h"
#include "query/snapshot/event_pair.h"
#include "query/table/table.h"
#include "store/draws/experiment.h"

namespace plimsoll::cli {
namespace {

Result<ChosenExperiment> experiment_from_file(const std::string& path) {
  auto config = config::load_experiment(path);
  if (!config) {
    return propagate(config);
  }
  const auto checked = check_experiment_config(*config);
  return checked ? Result<ChosenExperiment>(ChosenExperiment{.config = std::move(*config)})
                 : propagate(checked, "{}", path);
}

bool take_percent(const std::string& value, double& percent) {
  const auto share = parse_share(value);
  percent = share ? 100 * *share : percent;
  return share.has_value();
}

bool take_count(const std::string& value, int64_t& count) {
  const char* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, count);
  return error == std::errc() && rest == end;
}

// Whether it is a parameter that this program knows, with a value that it can read. Else the arms would be others than the server's.
bool take_parameter(const std::string& name, const std::string& value, ChosenExperiment& chosen) {
  config::ExperimentConfig& config = chosen.config;
  for (const auto& [known, filters] :
       {std::pair("control", &config.control), {"test", &config.test}, {"where", &config.both}}) {
    if (name == known) {
      filters->push_back(value);
      return true;
    }
  }
  for (const auto& [known, text] :
       {std::pair("since", &config.since), {"until", &config.until}, {"ratio", &config.ratio}}) {
    if (name == known) {
      *text = value;
      return true;
    }
  }
  for (const auto& [known, percent] : {std::pair("margin", &config.margin_percent),
                                       {"detect", &config.detect_percent},
                                       {"power", &config.power_percent}}) {
    if (name == known) {
      return take_percent(value, *percent);
    }
  }
  if (name == "min_instances") {
    return take_count(value, config.min_instances);
  }
  if (name == "history") {
    chosen.history = value;
    return parse_duration_ns(value).has_value();
  }
  if (name == "focus" || name == "ignore" || name == "hide") {
    chosen.frames.emplace_back(name, value);
    return true;
  }
  return false;
}

Result<ChosenExperiment> chosen_of(const store::ExperimentDefinition& definition) {
  ChosenExperiment chosen;
  chosen.config.name = definition.name;
  chosen.config.feature = definition.feature;
  for (const auto& [name, value] : definition.parameters) {
    if (!take_parameter(name, value, chosen)) {
      return with_hint(fail(ErrorCode::kInvalid, "this program cannot read {}={}", name, value),
                       "use the version of plimsoll that the server has");
    }
  }
  const Status checked = check_experiment_config(chosen.config);
  return checked ? Result<ChosenExperiment>(std::move(chosen)) : propagate(checked);
}

Result<ChosenExperiment> experiment_from_server(const std::string& name, const AnswerSource& source) {
  if (!is_named(source)) {
    return with_hint(fail(ErrorCode::kInvalid, "experiment {} is a name, which a server keeps", name),
                     "give --server ADDR or --data DIR, or a file, such as pages.toml or ./pages");
  }
  const auto table = ask_table("experiments", {.source = source, .parameters = {{"name", name}}});
  if (!table) {
    return propagate(table);
  }
  auto chosen = experiment_in(*table, name);
  return chosen ? std::move(chosen) : propagate(chosen, "experiment {}", name);
}

// A time that moves with the clock becomes the one that it is now.
std::string fixed_time(const std::string& text) {
  const auto time_ns = parse_time_ns(text, wall_now_ns());
  return time_ns && moves_with_clock(text) ? format_time(*time_ns / kNsPerSecond * kNsPerSecond) : text;
}

void add_percent(store::ExperimentDefinition& definition, const char* parameter, double percent) {
  definition.parameters.emplace_back(parameter, fmt::format("{:.12g}%", percent));
}

// What is not said has the server's default, which is the file's.
store::ExperimentDefinition definition_of(const ExperimentDefineOptions& options) {
  const config::ExperimentConfig defaults;
  const config::ExperimentConfig& config = options.config;
  store::ExperimentDefinition definition{
      .name = options.file, .feature = config.feature, .owner = options.owner};
  for (const auto& [name, filters] :
       {std::pair("control", &config.control), {"test", &config.test}, {"where", &config.both}}) {
    for (const std::string& filter : *filters) {
      definition.parameters.emplace_back(name, filter);
    }
  }
  for (const auto& [name, time] : {std::pair("since", &config.since), {"until", &config.until}}) {
    if (!time->empty()) {
      definition.parameters.emplace_back(name, fixed_time(*time));
    }
  }
  if (config.ratio != defaults.ratio) {
    definition.parameters.emplace_back("ratio", config.ratio);
  }
  if (config.margin_percent != defaults.margin_percent) {
    add_percent(definition, "margin", config.margin_percent);
  }
  if (config.detect_percent != defaults.detect_percent) {
    add_percent(definition, "detect", config.detect_percent);
  }
  if (config.power_percent != defaults.power_percent) {
    add_percent(definition, "power", config.power_percent);
  }
  if (config.min_instances != defaults.min_instances) {
    definition.parameters.emplace_back("min_instances", fmt::format("{}", config.min_instances));
  }
  return definition;
}

std::string path_of_experiment(const std::string& name) {
  return fmt::format("/api/v1/experiments/{}", http::url_encode(name));
}

// What the server has done, in its first note.
Result<std::string> done_by_server(const Result<std::string>& body) {
  const auto table = body ? query::from_json(*body) : propagate(body);
  if (!table) {
    return propagate(table);
  }
  return printable(table->notes.empty() ? std::string() : table->notes.front());
}

}  // namespace

Result<ChosenExperiment> experiment_in(const query::Table& table, const std::string& name) {
  const size_t place = query::column_of(table, "definition");
  const bool has_one = table.rows.size() == 1 && place < table.columns.size();
  const auto* json = has_one ? std::get_if<std::string>(&table.rows.front()[place]) : nullptr;
  if (json == nullptr) {
    return fail(ErrorCode::kCorrupt, "the server's answer has no definition");
  }
  const auto definition = query::definition_from_json(name, *json);
  if (!definition) {
    return propagate(definition);
  }
  const Status fits = store::check_experiment_texts(*definition);
  return fits ? chosen_of(*definition) : propagate(fits);
}

bool is_experiment_file(const std::string& file_or_name) {
  return file_or_name.ends_with(".toml") || file_or_name.find('/') != std::string::npos;
}

Status check_experiment_config(const config::ExperimentConfig& config) {
  for (const auto* filters : {&config.control, &config.test, &config.both}) {
    for (const std::string& filter : *filters) {
      if (const auto parsed = query::Predicate::parse(filter); !parsed) {
        return propagate(parsed, "the filter {}", filter);
      }
    }
  }
  for (const std::string* time : {&config.since, &config.until}) {
    if (!time->empty() && !parse_time_ns(*time, wall_now_ns())) {
      return with_hint(fail(ErrorCode::kInvalid, "\"{}\" is not a time", *time),
                       "write a time such as 2026-11-24T12:00:00Z or 7d");
    }
  }
  const auto ratio = query::parse_ratio(config.ratio);
  return ratio ? query::check_more_is_better(*ratio) : propagate(ratio);
}

Result<ChosenExperiment> choose_experiment(const std::string& file_or_name, const AnswerSource& source) {
  return is_experiment_file(file_or_name) ? experiment_from_file(file_or_name)
                                          : experiment_from_server(file_or_name, source);
}

Result<ChosenExperiment> choose_begun_experiment(const std::string& file_or_name,
                                                 const AnswerSource& source) {
  auto chosen = choose_experiment(file_or_name, source);
  const int64_t now_ns = wall_now_ns();
  if (chosen && parse_time_ns(chosen->config.since, now_ns).value_or(INT64_MAX) > now_ns) {
    return with_hint(
        fail(ErrorCode::kInvalid, "experiment {} has not begun", printable(file_or_name)),
        "enable the feature for the planned instances, then define the experiment with --since TIME");
  }
  return chosen;
}

Status define_on_server(const ExperimentDefineOptions& options) {
  const std::string& name = options.file;
  if (options.source.server.empty()) {
    return with_hint(fail(ErrorCode::kInvalid, "experiment {} is a name, which a server keeps", name),
                     "give --server ADDR, or a file to write, such as pages.toml or ./pages");
  }
  if (!options.config.name.empty()) {
    return fail(ErrorCode::kInvalid, "--name is for a file, and {} is the name on the server", name);
  }
  Status fits = store::check_experiment_name(name);
  fits = fits ? check_experiment_config(options.config) : fits;
  if (!fits) {
    return fits;
  }
  const std::string body = query::definition_json(definition_of(options));
  const auto done = done_by_server(change_server(options.source, "PUT", path_of_experiment(name), body));
  if (!done) {
    return propagate(done);
  }
  fmt::print("{}. Next: plimsoll experiment plan \"{}\" --server {}\n", *done, name, options.source.server);
  return {};
}

Status run_experiment_list(const ExperimentListOptions& options) {
  if (!is_named(options.source)) {
    return fail(ErrorCode::kInvalid, "experiment list requires --server ADDR or --data DIR");
  }
  auto table = ask_table("experiments", {.source = options.source, .form = options.form, .parameters = {}});
  const size_t place = table ? query::column_of(*table, "definition") : 0;
  if (table && options.form == query::TableForm::kText && place < table->columns.size()) {
    // For programs.
    const auto at = static_cast<std::ptrdiff_t>(place);
    table->columns.erase(table->columns.begin() + at);
    for (std::vector<query::Value>& row : table->rows) {
      row.erase(row.begin() + at);
    }
  }
  return print(std::move(table), options.form);
}

Status run_experiment_withdraw(const ExperimentWithdrawOptions& options) {
  const auto done =
      done_by_server(change_server(options.source, "DELETE", path_of_experiment(options.name), "{}"));
  if (!done) {
    return propagate(done);
  }
  fmt::print("{}\n", *done);
  return {};
}

}  // namespace plimsoll::cli
