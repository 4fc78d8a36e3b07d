#include "formats/application_profile.h"

namespace plimsoll::formats {

void Samples::add(std::span<const uint32_t> leaf_first, std::span<const int64_t> values, uint32_t label_set) {
  label_sets_.push_back(label_set);
  values_per_sample_ = values.size();
  locations_.insert(locations_.end(), leaf_first.begin(), leaf_first.end());
  ends_.push_back(locations_.size());
  values_.insert(values_.end(), values.begin(), values.end());
}

std::span<const uint32_t> Samples::stack(size_t sample) const {
  const size_t begin = sample == 0 ? 0 : ends_[sample - 1];
  return std::span(locations_).subspan(begin, ends_[sample] - begin);
}

std::span<const int64_t> Samples::values(size_t sample) const {
  return std::span(values_).subspan(sample * values_per_sample_, values_per_sample_);
}

}  // namespace plimsoll::formats
