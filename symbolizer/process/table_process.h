// Makes symbol tables in a child process, which alone parses ELF and DWARF: whatever is wrong with a file costs its table, and is
// said in words.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "symbolizer/process/confinement.h"
#include "symbolizer/search/table_search.h"
#include "symbolizer/symtab/symtab.h"

namespace plimsoll::symbolizer {

// An opened symbol table with the bytes that it borrows. Movable.
struct MappedTable {
  MappedFile map;
  Symtab table;
};

struct MadeTable {
  std::optional<MappedTable> mapped;  // none: there are no symbols at all
  SymtabQuality quality = SymtabQuality::kNone;
  std::string reasons;             // why it is not better, in words
  std::string looked_at;           // FileSearch::looked_at
  uint64_t peak_memory_bytes = 0;  // resident, with what of the files was read
};

struct MakeOptions {
  ProcessLimits limits = {};
  std::string folder = "/tmp";  // where the table lies meanwhile, without a name
  // Called about twice a second while the child works, with the size of the files it has opened. May be empty.
  std::function<void(uint64_t opened_bytes)> progress = {};
  std::stop_token stop = {};  // ends the child at once; once it was requested, none starts
};

// The program that parses.
struct TableWorker {
  std::vector<std::string> argv;
  bool is_zygote =
      false;  // it stays, and makes a process of itself for each table (Zygote); else it is started for each
};

class TableStarter;

// Any thread; as many at a time as there are callers.
class TableProcess {
 public:
  // What starts the child: plimsoll's `symtab worker` (run_table_child(), run_zygote()).
  explicit TableProcess(TableWorker worker);

  // Waits for the child, which it ends after four times the CPU time that the files' size allows. The table is checked: whole,
  // and of the identity that was asked for. Errors name the file and what became of the child: kTooLarge where it went beyond a
  // limit, kUnavailable where it did not come to an end or was stopped, kCorrupt where it crashed or said what makes no sense, and those of
  // files that were named by hand.
  Result<MadeTable> make(const TableQuery& query, const MakeOptions& options) const;

  // As make(). Where the child crashes or goes beyond a limit, which the second reader may be the cause of, it is tried once more with
  // our reader alone: the table then has the first error among its reasons. Where that fails too, the first error is the result.
  Result<MadeTable> make_with_fallback(TableQuery query, const MakeOptions& options) const;

 private:
  std::shared_ptr<TableStarter> starter_;
};

}  // namespace plimsoll::symbolizer
