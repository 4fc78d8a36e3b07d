// The labels of a profile's rows, on their way into the dictionaries of a block.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "proto/profile.pb.h"
#include "store/dictionaries/dictionary_builder.h"

namespace plimsoll::store {

// What the processes and samples of one profile carry together, as dictionary IDs.
class ProfileLabels {
 public:
  // Adds them. A sample's label stands where its process has the key too. Where a block has no room for all that is new (label_values.h),
  // the values with the most samples get it.
  static ProfileLabels add(const wire::RawProfile& profile, DictionaryBuilder& dictionaries);

  // `label_set_plus_1` is the sample's, 0: none. Of what some row of the profile has.
  uint32_t of(uint32_t process, uint32_t label_set_plus_1) const {
    return ids_.empty() ? 0 : ids_.at({process, label_set_plus_1});
  }

 private:
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> ids_;  // empty: there are no labels at all
};

}  // namespace plimsoll::store
