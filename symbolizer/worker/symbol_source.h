// Finding the file that has a binary's symbols.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "proto/profile.pb.h"
#include "store/frames/bindings.h"
#include "symbolizer/symtab/symbol_table.h"

namespace plimsoll::symbolizer {

struct BinarySymbols {
  SymbolTable table;
  std::vector<elf::Segment> segments;  // to turn file offsets into addresses
  store::SymbolQuality quality = store::SymbolQuality::kNone;
};

// Folders whose files may be opened because a profile names them. A path in a profile comes from outside: it may only
// be a hint to a regular file in here, reached through no symbolic link out of here, with the build ID that was asked
// for.
struct SymbolRoots {
  std::vector<std::string> folders;
};

// The symbols of the file at `path`, if it is the binary of that identity: .symtab, else .dynsym.
Result<BinarySymbols> read_symbols(const std::string& path, wire::IdentityKind kind,
                                   std::string_view identity, const SymbolRoots& roots);

// This process's own vdso, if it has that build ID.
Result<BinarySymbols> read_vdso_symbols(std::string_view build_id);

}  // namespace plimsoll::symbolizer
