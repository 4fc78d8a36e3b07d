// What the locations of several blocks are called.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/append_only_list.h"
#include "store/model/bindings.h"

namespace plimsoll::store {

// Grows as the bindings do that it is made of: add() of each block, then publish(). Of a location that several blocks have named the names of the last block stand, whichever
// was named first; names that a block has taken back stay until another one has some. The same holds for why a binary has no better
// symbols. One thread.
class BindingUnion {
 public:
  // A block that is in it.
  struct Member {
    AppendOnlyList<uint32_t> functions{0}, files{0};  // IDs in the union, by the block's
    size_t rebound = 0;                               // of its Bindings::rebound, that have been taken over
    bool is_complete = false;                         // all that was bound before those has been, too
  };

  // What one call of add() adds of a block: its bindings, and the IDs of its locations and binaries in the union.
  struct Addition {
    uint32_t block;  // its place among the blocks
    const Bindings& bindings;
    Member& member;
    std::span<const uint32_t> locations;
    std::span<const uint32_t> binaries;
  };

  // What is new in a block; blocks in order. Costs as much as that.
  void add(const Addition& block);
  // Makes bindings() have all that was added. Costs a copy of 8 bytes for each location where there is any new, and a look at each binary of
  // all blocks where there is a new reason.
  void publish();

  const Bindings& bindings() const { return bindings_; }

 private:
  using Places = std::vector<Bindings::Place>;

  void add_names(const Addition& block);
  void add_frames(const Addition& block, Places& places);
  void bind(const Addition& block, uint32_t location, Places& places);
  void add_reasons(const Addition& block);
  void publish_reasons();

  // Why binaries of a block have no better symbols.
  struct Reasons {
    std::shared_ptr<const std::vector<std::string>> of_binary;  // by the block's ID
    std::vector<uint32_t> binaries;                             // their IDs in the union
  };

  Bindings bindings_;
  std::optional<Places> places_;  // as they will be published; none: nothing is new
  bool has_new_reasons_ = false;
  std::vector<uint32_t> named_by_;                              // by location: the block whose names it has
  std::vector<Reasons> reasons_;                                // by block
  boost::unordered_flat_map<std::string, uint32_t> functions_;  // by linkage name, zero byte, name
  boost::unordered_flat_map<std::string, uint32_t> files_;
};

}  // namespace plimsoll::store
