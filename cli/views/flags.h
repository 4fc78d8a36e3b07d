// The flags that subcommands that ask have in common. Those of a view are handed on as parameters: a name and a text each.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "cli/views/answer_source.h"
#include "query/registry/view.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace plimsoll::cli {

// A flag whose value becomes a parameter, in the order of the command line. May be repeated.
CLI::Option* add_parameter(CLI::App& command, const std::string& flag, const std::string& name,
                           query::Parameters& parameters, const std::string& help);

// A flag for a share, "3%" or "0.03" (base/share.h), from `low` to `high`. What it is set to is times `unit`: 100 for percentages.
struct ShareRange {
  double low = 0;
  double high = 1;
};
CLI::Option* add_share(CLI::App& command, const std::string& flag, double& target, const std::string& help,
                       ShareRange range, double unit = 1);
CLI::Option* add_share(CLI::App& command, const std::string& flag, std::optional<double>& target,
                       const std::string& help, ShareRange range);

// --server, --data, --token-file, --server-ca. Where neither of the first two is given, the server is the one that PLIMSOLL_SERVER names, if
// `needs_source` says once all is parsed that the command cannot do without; absent: it never can.
void add_source(CLI::App& command, AnswerSource& source, const std::function<bool()>& needs_source = {});
// --json, --csv
void add_forms(CLI::App& command, query::TableForm& form);
// A flag, or positional argument, for each parameter of a view that a registry describes.
void add_parameters(CLI::App& command, std::span<const query::ParameterSpec> specs,
                    query::Parameters& parameters);
// --where, --focus, --ignore, --hide, --since, --until
void add_filters(CLI::App& command, query::Parameters& parameters);

}  // namespace plimsoll::cli
