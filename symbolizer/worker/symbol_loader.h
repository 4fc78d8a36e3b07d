// From a binary to its symbols: the table that the data directory keeps, or one that is made now.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "proto/profile.pb.h"
#include "symbolizer/worker/symbol_source.h"
#include "symbolizer/worker/table_folder.h"

namespace plimsoll::symbolizer {

struct WantedBinary {
  wire::IdentityKind identity_kind = wire::IDENTITY_UNKNOWN;
  std::string_view identity;
  std::span<const std::string> paths;  // where it may lie: hints from outside
  // Of the last search, as BinarySymbols has them; empty: there was none.
  std::string_view looked_at = {};
  std::string_view reasons = {};
};

// One thread at a time.
class SymbolLoader {
 public:
  SymbolLoader(SymbolRoots roots, TableFolder tables, TableProcess process, ProcessLimits limits = {})
      : roots_(std::move(roots)), tables_(std::move(tables)), process_(std::move(process)), limits_(limits) {}

  // A kept table is used where it is the best there is, or a search would end as the last one did. Else the child process
  // searches and makes one (symbolizer/search); where its DWARF cannot be read, one of its symbols alone. A worse one never
  // replaces a better. Never fails: there may be no symbols, for a reason.
  BinarySymbols load(const WantedBinary& wanted);

  const SymbolRoots& roots() const { return roots_; }

 private:
  bool is_best(const Symtab& table, const WantedBinary& wanted) const;
  MadeTable make(const WantedBinary& wanted);
  std::string looked_at_of_failure(const WantedBinary& wanted) const;

  SymbolRoots roots_;
  TableFolder tables_;
  TableProcess process_;
  ProcessLimits limits_;
};

}  // namespace plimsoll::symbolizer
