// One binary's symbol table, made of whichever files know most of the binary. Parses what it finds: for the process that is
// there for that (symbolizer/process).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "proto/profile.pb.h"
#include "symbolizer/dwarf/second_reader.h"
#include "symbolizer/search/file_search.h"
#include "symbolizer/symtab/symtab_format.h"

namespace plimsoll::symbolizer {

// Files given by the user, which are not verified; empty: search for them.
struct NamedFiles {
  std::string binary = {};      // or a separate debug file
  std::string debug = {};       // has the DWARF
  std::string supplement = {};  // dwz's
  std::string package = {};     // of split DWARF (.dwp)
};

struct TableQuery {
  wire::IdentityKind identity_kind = wire::IDENTITY_UNKNOWN;  // with named.binary: that file's own
  std::string identity = {};
  std::vector<std::string> paths = {};  // hints from outside where the binary may lie
  SymbolRoots roots = {};
  NamedFiles named = {};
  bool without_dwarf = false;  // symbols alone
  unsigned threads = 1;        // that parse
  ReaderChoice reader = ReaderChoice::kBoth;
};

struct FoundTable {
  std::string bytes;  // of the table; empty: there are no symbols at all
  SymtabQuality quality = SymtabQuality::kNone;
  std::string reasons;    // why it is not better, in words; empty where nothing is missing
  std::string looked_at;  // FileSearch::looked_at
};

// Tries, by quality: DWARF of the binary, DWARF of a separate debug file (by build ID; by .gnu_debuglink), .symtab of either,
// .gnu_debugdata and .dynsym. A file counts only if its build ID is the binary's, or its CRC that of the link. To the DWARF
// belong its supplement, a package of split DWARF beside the file or in the debug folders, and the .dwo files that it names: where
// the compiler wrote them, there below the debug folders, or beside the binary or its debug file.
// `opened` is told the size of each file before it is read. Errors are those of named files; besides those it never fails.
Result<FoundTable> find_table(const TableQuery& query, std::function<void(uint64_t bytes)> opened);

// The binary itself, with its code. Nothing where it was not found, and `reasons` says in words what was.
struct FoundBinary {
  std::optional<FoundFile> file;
  std::string reasons;
};

// As find_table() looks for it; of the named files only query.named.binary counts.
Result<FoundBinary> find_binary(const TableQuery& query, std::function<void(uint64_t bytes)> opened);

}  // namespace plimsoll::symbolizer
