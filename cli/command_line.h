// `plimsoll`: the command line. Each subcommand is a function of its own file, on options that are plain structs.
#pragma once

namespace plimsoll::cli {

inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

// Parses, runs, prints errors on standard error. Exit status: 0 done, 1 failed, 2 the command line is wrong.
int run(int argc, char** argv);

}  // namespace plimsoll::cli
