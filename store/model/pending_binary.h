// A binary that is to be symbolized, as the store knows it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/profile.pb.h"
#include "store/model/bindings.h"

namespace plimsoll::store {

struct PendingLocation {
  uint32_t id;
  wire::LocationKind kind;
  uint64_t address;
  bool is_new;  // never looked up
};

// All entries of a block with its identity, whatever path they saw it under.
struct PendingBinary {
  wire::IdentityKind identity_kind;
  std::string identity;
  std::vector<int64_t> ids;
  std::vector<std::string> paths;  // for each ID
  SymbolQuality quality;           // that its bindings have
  int64_t generation;              // of its bindings; 0: none yet
  std::string looked_at;           // BinaryAccount::looked_at of then
  std::string reasons;             // likewise
  std::string machine;             // that told of it first; empty: an older version wrote it
  int64_t new_locations;           // that were never looked up
  bool is_kernel;                  // or a module
  int64_t kernel_symbol_bytes;     // of what a profile brought; 0: none did
  std::vector<PendingLocation> locations = {};

  // Names it within this process.
  std::string key() const;
  // Names the search for its symbols, which depends on the paths that are known.
  std::string search_key() const;
};

// Gathers the binaries of a block by identity. One thread.
class PendingBinaries {
 public:
  // An entry of the block: of one ID, with the locations that it alone has.
  void add(PendingBinary binary);
  // Those that need a look: with locations that were never looked up, or symbols that are not the best kind there is.
  std::vector<PendingBinary> take();

 private:
  std::map<std::string, PendingBinary> binaries_;  // by key()
};

}  // namespace plimsoll::store
