// Binds locations that have no names yet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/sqlite/database.h"
#include "symbolizer/worker/symbol_source.h"

namespace plimsoll::symbolizer {

struct BindReport {
  uint64_t locations = 0;  // looked up
  uint64_t named = 0;      // of these
  struct Missing {
    std::string binary;
    std::string reason;
  };
  std::vector<Missing> missing;  // binaries without symbols
};

// Looks up every location that is not bound yet and writes its frames: ELF locations in the files their binaries name,
// within `roots`; kernel and module locations in the symbols that profiles brought. Part of the caller's transaction on
// the catalogue. Opens each binary once.
Result<BindReport> bind_pending(sqlite::Database& catalogue, const SymbolRoots& roots);

}  // namespace plimsoll::symbolizer
