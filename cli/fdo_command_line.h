// The flags of `plimsoll fdo`.
#pragma once

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

}  // namespace plimsoll::cli
