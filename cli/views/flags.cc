#include "cli/views/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>

#include "base/share.h"

namespace plimsoll::cli {
namespace {

CLI::Option* add_share(CLI::App& command, const std::string& flag, const std::string& help, ShareRange range,
                       const std::function<void(double)>& set) {
  const auto share_within = [range](const std::string& text) {
    const auto share = parse_share(text);
    return share && *share >= range.low && *share <= range.high ? share : std::nullopt;
  };
  return command
      .add_option_function<std::string>(
          flag, [set, share_within](const std::string& text) { set(share_within(text).value_or(0)); }, help)
      ->type_name("SHARE")
      ->check([range, share_within](const std::string& text) {
        return share_within(text) ? std::string()
                                  : fmt::format("\"{}\" is no share from {:g}% to {:g}%, such as 3% or 0.03",
                                                text, 100 * range.low, 100 * range.high);
      });
}

}  // namespace

CLI::Option* add_parameter(CLI::App& command, const std::string& flag, const std::string& name,
                           query::Parameters& parameters, const std::string& help) {
  return command
      .add_option_function<std::vector<std::string>>(
          flag,
          [&parameters, name](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              parameters.emplace_back(name, text);
            }
          },
          help)
      ->allow_extra_args(false)
      ->take_all();
}

CLI::Option* add_share(CLI::App& command, const std::string& flag, double& target, const std::string& help,
                       ShareRange range, double unit) {
  // 0.07 x 100 is 7.000000000000001: rounded, since the number is written to a file.
  return add_share(command, flag, help, range,
                   [&target, unit](double share) { target = std::round(share * unit * 1e12) / 1e12; });
}

CLI::Option* add_share(CLI::App& command, const std::string& flag, std::optional<double>& target,
                       const std::string& help, ShareRange range) {
  return add_share(command, flag, help, range, [&target](double share) { target = share; });
}

void add_source(CLI::App& command, AnswerSource& source, const std::function<bool()>& needs_source) {
  auto* server = command
                     .add_option("--server", source.server,
                                 "Ask this server (default: the one in PLIMSOLL_SERVER, without --data)")
                     ->type_name("ADDR");
  auto* data = command.add_option("--data", source.data_dir, "Read this data directory")->type_name("DIR");
  server->excludes(data);
  command
      .add_option("--token-file", source.token_file,
                  "File of the token that the server knows you by (default: the token in PLIMSOLL_TOKEN)")
      ->type_name("FILE")
      ->excludes(data);
  command
      .add_option(
          "--server-ca", source.server_ca,
          "File of those who sign the server's certificate, in PEM (default: whom this machine trusts)")
      ->envname("PLIMSOLL_SERVER_CA")
      ->type_name("FILE");
  // CLI11's own way with variables would take it for a --server that excludes --data.
  command.parse_complete_callback([&source, needs_source] {
    const char* const usual = std::getenv("PLIMSOLL_SERVER");
    if (usual != nullptr && !is_named(source) && (!needs_source || needs_source())) {
      source.server = usual;
    }
  });
}

void add_forms(CLI::App& command, query::TableForm& form) {
  auto* json =
      command.add_flag_callback("--json", [&form] { form = query::TableForm::kJson; }, "As a JSON document");
  auto* csv = command.add_flag_callback("--csv", [&form] { form = query::TableForm::kCsv; }, "As CSV");
  json->excludes(csv);
}

void add_event(CLI::App& command, query::Parameters& parameters) {
  add_parameter(command, "--event", "event", parameters, "Event (default: cycles, or cpu-clock)")
      ->type_name("EVENT");
}

void add_filters(CLI::App& command, query::Parameters& parameters) {
  add_parameter(
      command, "--where", "where", parameters,
      "Filter: dim=a, dim!=a, dim=~regex, dim!~regex, \"dim in a,b\"; may be repeated, all must hold")
      ->type_name("PREDICATE");
  add_parameter(command, "--focus", "focus", parameters,
                "Only stacks with a frame whose function, file or binary this matches, as pprof's focus")
      ->type_name("REGEX");
  add_parameter(command, "--ignore", "ignore", parameters, "Without stacks that have such a frame")
      ->type_name("REGEX");
  add_parameter(
      command, "--hide", "hide", parameters,
      "Without such frames, which are left out of their stacks; none: with those of an allocator too")
      ->type_name("REGEX");
  add_parameter(command, "--since", "since", parameters, "Start: RFC 3339, or relative (1h, -2h)")
      ->type_name("TIME");
  add_parameter(command, "--until", "until", parameters, "End, likewise")->type_name("TIME");
}

void add_no_margins(CLI::App& command, query::Parameters& parameters) {
  command.add_flag_callback(
      "--no-margins", [&parameters] { parameters.emplace_back("margins", "no"); },
      "Without margins of error, which take a second pass over the rows");
}

void add_selection(CLI::App& command, query::Parameters& parameters) {
  add_event(command, parameters);
  add_filters(command, parameters);
}

}  // namespace plimsoll::cli
