// The flags of `plimsoll symbolize` and `plimsoll symtab`.
#pragma once

#include <string>

#include "cli/symbolize.h"
#include "cli/symtab.h"
#include "cli/symtab_compare.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

// What they were told.
struct SymbolOptions {
  SymbolizeOptions symbolize;
  SymtabBuildOptions build;
  SymtabDumpOptions dump;
  std::string verify;  // table; empty: comparison
  ReaderComparisonOptions comparison;
  bool as_zygote = false;  // symtab worker
};

void add_symbol_commands(CLI::App& app, SymbolOptions& options);

// Whether one of them was given; then it can be run.
bool gives_symbol_command(const CLI::App& app);
Status run_symbol_command(const CLI::App& app, const SymbolOptions& options);

}  // namespace plimsoll::cli
