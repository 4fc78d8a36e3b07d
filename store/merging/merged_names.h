// What the locations of blocks that become one are called.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/append_only_list.h"
#include "base/result.h"
#include "store/copy/part.h"

namespace plimsoll::store {

// A block whose names are read.
struct NamedMember {
  std::string catalogue_path;
  AppendOnlyList<uint32_t> locations;  // their IDs in the union, by its own
};

// Calls `use` with all names, under the IDs of the union, as they are now: of a location that several have named those of the last one
// (as BindingUnion has it), and without frames where none has any but some looked it up. `locations`: how many the union has.
// kCorrupt with `failed` set to the place of the member that is damaged. Memory: some ten thousand names, and 2 bits a location.
Status read_merged_names(std::span<const NamedMember> members, size_t locations, const UseNames& use,
                         size_t& failed);

}  // namespace plimsoll::store
