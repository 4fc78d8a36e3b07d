// The labels of an application's samples, as a raw profile has them.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/application_profile.h"
#include "proto/profile.pb.h"

namespace plimsoll::formats {

// A key keeps this many values in a profile, those of the most samples; the others are called kOtherLabel.
inline constexpr size_t kMaxLabelValues = 200;
inline constexpr const char* kOtherLabel = "[other]";

// Adds the sets that there are to the raw profile when it is made, with a note where some values were left out. One thread.
class SampleLabels {
 public:
  SampleLabels(const ApplicationProfile& application, wire::RawProfile& raw);

  // Of one of the application's label sets: what SampleTable.label_set says, 0 for none.
  uint32_t of(uint32_t label_set) const { return place_plus_1_[label_set]; }

 private:
  std::vector<uint32_t> place_plus_1_;  // by the application's label set
};

}  // namespace plimsoll::formats
