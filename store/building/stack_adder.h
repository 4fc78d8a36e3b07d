// The stacks of a profile on their way into the dictionaries.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/profile.pb.h"
#include "store/dictionaries/dictionary_builder.h"

namespace plimsoll::store {

// The dictionary ID of each of the profile's stacks, by their number in it: 0, of the empty stack, first. `locations` are the IDs
// of the profile's locations. New nodes get their IDs in the profile's order.
std::vector<uint32_t> add_stacks(const wire::Stacks& stacks, std::span<const uint32_t> locations,
                                 DictionaryBuilder& dictionaries);

}  // namespace plimsoll::store
