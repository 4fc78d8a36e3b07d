// `plimsoll symbolize`: addresses in, a line of JSON for each out (docs/symbolizing.md).
#pragma once

#include <string>

#include "base/result.h"
#include "cli/frames_json.h"
#include "cli/symbol_tables.h"

namespace plimsoll::cli {

struct SymbolizeOptions {
  // One of: a binary; a table; a build of a data directory.
  TableSource source;
  std::string table;
  std::string build_id;  // hexadecimal
  std::string data_dir;
  NameForm names = NameForm::kDisplay;
};

// From standard input to standard output, up to the end. Answers what it has read before it waits for more.
Status run_symbolize(const SymbolizeOptions& options);

}  // namespace plimsoll::cli
