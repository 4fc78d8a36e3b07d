// The flags of `plimsoll binaries`.
#pragma once

#include "base/result.h"
#include "cli/binaries.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

struct BinariesOptions {
  TableOptions list;
  TableOptions missing;
  TableOptions show;
  std::string shown_build_id;
  BinariesAddOptions add;
  BinariesVerifyOptions verify;
};

void add_binaries_command(CLI::App& app, BinariesOptions& options);

// The subcommand that was given.
Status run_binaries_command(const CLI::App& app, const BinariesOptions& options);

}  // namespace plimsoll::cli
