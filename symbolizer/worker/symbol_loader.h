// From a binary to its symbols: the table that the data directory keeps, or one that is made now.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "symbolizer/worker/remote_tables.h"
#include "symbolizer/worker/symbol_source.h"
#include "symbolizer/worker/table_folder.h"
#include "symbolizer/worker/wanted_binary.h"

namespace plimsoll::symbolizer {

struct LoadOptions {
  ProcessLimits limits = {};       // of the child process
  std::stop_token stop = {};       // ends a running child, and lets no other start
  RemoteTables* remote = nullptr;  // borrowed; null: no others make tables
};

// One thread at a time.
class SymbolLoader {
 public:
  SymbolLoader(SymbolRoots roots, TableFolder tables, TableProcess process, LoadOptions options = {})
      : roots_(std::move(roots)),
        tables_(std::move(tables)),
        process_(std::move(process)),
        options_(std::move(options)) {}

  // A kept table is used where it is the best there is, or a search would end as the last one did. Else one that another has made
  // (RemoteTables). Else the child process
  // searches and makes one (symbolizer/search); where its DWARF cannot be read, one of its symbols alone. A worse one never
  // replaces a better. Never fails: there may be no symbols, for a reason. Nothing where it was told to stop before it knew.
  std::optional<BinarySymbols> load(const WantedBinary& wanted);

  const SymbolRoots& roots() const { return roots_; }
  RemoteTables* remote() const { return options_.remote; }

 private:
  bool is_best(const Symtab& table, const WantedBinary& wanted) const;
  std::optional<MadeTable> take_or_make(const WantedBinary& wanted);
  std::optional<MadeTable> make(const WantedBinary& wanted);
  std::string looked_at_of_failure(const WantedBinary& wanted) const;

  SymbolRoots roots_;
  TableFolder tables_;
  TableProcess process_;
  LoadOptions options_;
};

}  // namespace plimsoll::symbolizer
