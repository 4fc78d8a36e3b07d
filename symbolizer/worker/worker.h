// Binds locations that have no names yet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/sqlite/database.h"
#include "symbolizer/worker/symbol_source.h"

namespace plimsoll::symbolizer {

// In three steps, so that the catalogue is not held while files are read:
//
//   auto unbound = find_unbound(catalogue);
//   auto looked_up = look_up(*unbound, roots);
//   write_bindings(catalogue, looked_up);

struct UnboundLocation {
  uint32_t id;
  wire::LocationKind kind;
  uint64_t address;
};

struct UnboundBinary {
  int64_t id;
  wire::IdentityKind identity_kind;
  std::string identity;
  std::string path;
  std::string kernel_symbols;  // of the kernel and modules: wire::KernelImage, as a profile brought it
  std::vector<UnboundLocation> locations;
};

// Every ELF, kernel and module location that was never looked up, by binary.
Result<std::vector<UnboundBinary>> find_unbound(sqlite::Database& catalogue);

struct LookedUpBinary {
  int64_t id;
  std::string path;
  store::SymbolQuality quality;
  std::string missing_reason;  // why there are no symbols; empty where there are
  std::vector<store::Binding> bindings;
};

// Opens each binary once: ELF files that their binaries' paths name, within `roots`. Any thread.
std::vector<LookedUpBinary> look_up(const std::vector<UnboundBinary>& unbound, const SymbolRoots& roots);

// Part of the caller's transaction.
Status write_bindings(sqlite::Database& catalogue, const std::vector<LookedUpBinary>& looked_up);

}  // namespace plimsoll::symbolizer
