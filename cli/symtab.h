// `plimsoll symtab build|dump|verify`: symbol tables by hand (docs/symbol-table.md).
#pragma once

#include <string>

#include "base/result.h"
#include "cli/symbol_tables.h"

namespace plimsoll::cli {

struct SymtabBuildOptions {
  TableSource source;
  std::string output;
};
// Says on standard output what it made, and on standard error what is missing in it.
Status run_symtab_build(const SymtabBuildOptions& options);

struct SymtabDumpOptions {
  std::string table;
  bool as_json = false;  // a line for the header, and one for each row, as `plimsoll symbolize` prints them
};
Status run_symtab_dump(const SymtabDumpOptions& options);

// Fails where the table is not as it was written.
Status run_symtab_verify(const std::string& path);

}  // namespace plimsoll::cli
