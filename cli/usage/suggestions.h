// "Did you mean ...?"
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace plimsoll::cli {

// The names of an app's or a subcommand's own subcommands; of those that --help shows.
std::vector<std::string> command_names(const CLI::App& app);
// "--data", ...: of a subcommand's flags.
std::vector<std::string> flag_names(const CLI::App& command);

// The subcommand of that name; null: there is none.
const CLI::App* find_subcommand(const CLI::App& app, const std::string& name);

// The subcommand that `app` parsed last, down to the innermost; `app` where it parsed none.
const CLI::App& innermost(const CLI::App& app);

// "no such flag: --limt; did you mean --limit?": about the first of the words on the command line that is neither a command, a flag
// nor a value, as far as can be told; empty: none is.
std::string unknown_word_text(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace plimsoll::cli
