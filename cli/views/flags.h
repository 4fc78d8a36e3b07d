// The flags that subcommands that ask have in common. Those of a view are handed on as parameters: a name and a text each.
#pragma once

#include <string>

#include "cli/views/answer_source.h"
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

// --server, --data, --token-file, --server-ca
void add_source(CLI::App& command, AnswerSource& source);
// --json, --csv
void add_forms(CLI::App& command, query::TableForm& form);
// --event
void add_event(CLI::App& command, query::Parameters& parameters);
// --where, --focus, --ignore, --hide, --since, --until
void add_filters(CLI::App& command, query::Parameters& parameters);
// --no-margins
void add_no_margins(CLI::App& command, query::Parameters& parameters);
// --event and the filters.
void add_selection(CLI::App& command, query::Parameters& parameters);

}  // namespace plimsoll::cli
