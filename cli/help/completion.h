// Completion in shells. The scripts ask `plimsoll complete WORD...` each time, so that they never know less than the program.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

// The script for "bash", "zsh" or "fish", to be evaluated by the shell. kInvalid for another one.
Result<std::string> completion_script(const std::string& shell);

// What the last of `words` (which may be empty) can become; `words` are those after the program's name. Commands, flags, and values:
// choices and dimensions as the registry of views has them; events, jobs, machines and draws by asking the server or data directory that
// the words name. Nothing where files are meant, or where that fails: completion has no place for errors.
std::vector<std::string> completions(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace plimsoll::cli
