// What a search for symbols sees of the store: which addresses have no names yet, and a way to give them some.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/model/bindings.h"
#include "store/model/pending_binary.h"

namespace plimsoll::store {

// What a search for a binary's symbols came to. Borrows what it names.
struct NamedBinary {
  std::span<const int64_t> ids;  // PendingBinary::ids
  std::string_view path;         // for errors
  BinaryAccount account;
  std::span<const Binding> bindings;  // in the place of what these locations were bound to before
};

// The locations of one block. One thread at a time.
class BlockSymbols {
 public:
  virtual ~BlockSymbols() = default;

  // Locations keep their IDs within the block of that number and generation.
  virtual int64_t number() const = 0;
  // How often it was written again as a whole, whereby locations may have got other IDs.
  virtual int64_t generation() const { return 0; }

  // Binaries with locations that were never looked up (only IDs beyond `bound_up_to` are considered), and those whose symbols are not the
  // best kind there is. Without their locations. Raises `bound_up_to` to the last location there is.
  virtual Result<std::vector<PendingBinary>> find_pending(int64_t& bound_up_to) = 0;

  // Adds a binary's locations: all of them, or only those that were never looked up.
  virtual Status add_locations(bool all, PendingBinary& binary) = 0;

  // The wire::KernelImage that a profile brought of it, serialized; empty where none did.
  virtual Result<std::string> kernel_image(const PendingBinary& binary) = 0;

  // All of them or none. Done again it changes nothing.
  virtual Status bind(std::span<const NamedBinary> binaries) = 0;

  // After any of these has failed: whether the block is not there any more, dropped or replaced by another; and whether it is damaged.
  virtual bool is_gone() const = 0;
  virtual bool is_unreadable() const = 0;
};

class Symbols {
 public:
  virtual ~Symbols() = default;

  // Of all blocks there are now, the newest last: it alone gets new locations. A store may have none before its first profile.
  virtual Result<std::vector<std::unique_ptr<BlockSymbols>>> blocks() = 0;
};

}  // namespace plimsoll::store
