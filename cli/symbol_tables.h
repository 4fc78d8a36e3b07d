// Opening and making symbol tables for commands.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "symbolizer/process/table_process.h"

namespace plimsoll::cli {

// What starts the processes that parse many binaries: this program, as `plimsoll symtab worker`.
symbolizer::TableWorker table_worker();

// What starts the processes that make compiler profiles of binaries: this program, as `plimsoll fdo worker`.
symbolizer::TableWorker profile_worker();

// What starts the processes that annotate code: this program, as `plimsoll symtab annotate`.
symbolizer::TableWorker annotate_worker();

// Of a file named by hand. What it refers to is looked for wherever the user may read, and in the debug folders.
struct TableSource {
  symbolizer::NamedFiles files;
  std::vector<std::string> debug_folders = {"/usr/lib/debug"};
  uint64_t memory_mib = 0;  // 0: the default limit
  unsigned threads = 0;     // 0: one for each CPU, up to 8
  symbolizer::ReaderChoice reader = symbolizer::ReaderChoice::kBoth;
};

// Tells on a terminal how it goes on.
Result<symbolizer::MadeTable> make_table(const TableSource& source);

Result<symbolizer::MappedTable> open_table(const std::string& path);

}  // namespace plimsoll::cli
