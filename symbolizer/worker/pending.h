// Which binaries need a look, and what the catalogue knows of them. Each function is part of the caller's transaction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "proto/profile.pb.h"
#include "store/frames/bindings.h"
#include "store/sqlite/database.h"

namespace plimsoll::symbolizer {

struct PendingLocation {
  uint32_t id;
  wire::LocationKind kind;
  uint64_t address;
  bool is_new;  // never looked up
};

// One binary: all entries of the catalogue with its identity, whatever path they saw it under.
struct PendingBinary {
  wire::IdentityKind identity_kind;
  std::string identity;
  std::vector<int64_t> ids;
  std::vector<std::string> paths;  // for each ID
  store::SymbolQuality quality;    // that its bindings have
  int64_t generation;              // of its bindings; 0: none yet
  std::string looked_at;           // BinarySymbols::looked_at of then
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

// Binaries with locations that were never looked up (only IDs beyond `bound_up_to` are considered), and those whose
// symbols are not the best kind there is. Without their locations. Raises `bound_up_to` to the last location there is.
Result<std::vector<PendingBinary>> find_pending(sqlite::Database& catalogue, int64_t& bound_up_to);

// By turns of the machines that told of them, and of each machine those with the most new locations first: one that tells of thousands
// of binaries does not delay those of others.
void order_by_turns(std::vector<PendingBinary>& pending);

// Adds a binary's locations: all of them, or only those that were never looked up.
Status add_locations(sqlite::Database& catalogue, bool all, PendingBinary& binary);

// The wire::KernelImage that a profile brought of it, serialized; empty where none did.
Result<std::string> kernel_image(sqlite::Database& catalogue, const PendingBinary& binary);

}  // namespace plimsoll::symbolizer
