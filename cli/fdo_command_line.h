// The flags of `plimsoll fdo`.
#pragma once

#include <optional>

#include "cli/fdo.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

struct FdoCommands {
  FdoAutofdoOptions autofdo;
  FdoProfileOptions bolt;
  FdoOrderOptions order;
  FdoReportOptions report;
  FdoVerifyOptions verify;
};

void add_fdo_command(CLI::App& app, FdoCommands& options);
// The one of its subcommands that was given.
Status run_fdo_command(const CLI::App& app, const FdoCommands& options);

// `verify` could not measure: neither accepted (0) nor rejected (1).
inline constexpr int kExitNotMeasured = 3;
// The exit status of an error of `verify`, where that was given; else nothing.
std::optional<int> exit_status_of_verify(const CLI::App& app, const Error& error);

}  // namespace plimsoll::cli
