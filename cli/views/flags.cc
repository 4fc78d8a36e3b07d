#include "cli/views/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "base/share.h"
#include "cli/views/user_config.h"
#include "query/registry/common_parameters.h"

namespace plimsoll::cli {
namespace {

// 1e-9 as "0.0000001%".
std::string percent_text(double share) {
  std::string digits = fmt::format("{:.9f}", 100 * share);
  digits.resize(digits.find_last_not_of('0') + 1);
  return digits.substr(0, digits.size() - (digits.ends_with('.') ? 1 : 0)) + "%";
}

// What is wrong with a share that `range` does not have.
std::string share_error(const std::string& text, ShareRange range) {
  const auto as_percentage = parse_share(text + "%");  // nothing: it has a percent sign, or is no number
  if (parse_share(text)) {
    return fmt::format("{} is not between {} and {}", text, percent_text(range.low),
                       percent_text(range.high));
  }
  return as_percentage ? fmt::format("{0} has no unit: write {0}%, or a fraction up to 1 such as 0.03", text)
                       : fmt::format("\"{}\" is not a share, such as 3% or 0.03", text);
}

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
        return share_within(text) ? std::string() : share_error(text, range);
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
  auto* server =
      command
          .add_option("--server", source.server,
                      "Address of the server to ask (default without --data: PLIMSOLL_SERVER, then "
                      "~/.config/plimsoll/config.toml)")
          ->type_name("ADDR");
  auto* data = command.add_option("--data", source.data_dir, "Data directory to read, without a server")
                   ->type_name("DIR");
  server->excludes(data);
  command
      .add_option(
          "--token-file", source.token_file,
          "File with your token for the server (default: the token in PLIMSOLL_TOKEN, then token_file in "
          "~/.config/plimsoll/config.toml)")
      ->type_name("FILE")
      ->excludes(data);
  command
      .add_option("--server-ca", source.server_ca,
                  "PEM file of the authority that signs the server's certificate (default: this machine's "
                  "authorities)")
      ->envname("PLIMSOLL_SERVER_CA")
      ->type_name("FILE");
  // CLI11's own way with variables would take it for a --server that excludes --data.
  command.parse_complete_callback([&source, needs_source] {
    const bool asks = is_named(source) || !needs_source || needs_source();
    if (const Status completed = asks ? complete_source(source) : Status(); !completed) {
      throw CLI::ValidationError(completed.error().text());  // which ends parsing, as a wrong flag does
    }
  });
}

void add_forms(CLI::App& command, query::TableForm& form) {
  auto* json = command.add_flag_callback(
      "--json", [&form] { form = query::TableForm::kJson; }, "Print one JSON document");
  auto* csv = command.add_flag_callback("--csv", [&form] { form = query::TableForm::kCsv; }, "Print CSV");
  json->excludes(csv);
}

void add_parameters(CLI::App& command, std::span<const query::ParameterSpec> specs,
                    query::Parameters& parameters) {
  for (const query::ParameterSpec& spec : specs) {
    const std::string flag = spec.is_positional ? spec.name : query::flag_of(spec);
    if (spec.kind == query::ValueKind::kFlag) {
      const char* const text = spec.default_value == "yes" ? "no" : "yes";
      command.add_flag_callback(
          flag, [&parameters, name = spec.name, text] { parameters.emplace_back(name, text); }, spec.help);
    } else {
      add_parameter(command, flag, spec.name, parameters, query::help_of(spec))
          ->type_name(query::placeholder_of(spec));
    }
  }
}

void add_filters(CLI::App& command, query::Parameters& parameters) {
  add_parameters(command, query::filter_specs(), parameters);
}

}  // namespace plimsoll::cli
