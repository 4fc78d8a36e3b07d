// How many observations stand behind the values of an application's profile: nanoseconds and bytes are none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "formats/application_profile.h"

namespace plimsoll::formats {

// Plain; any thread. Copies what it needs of the profile.
class SampleCounts {
 public:
  explicit SampleCounts(const ApplicationProfile& profile);

  // Of one row's value of a type, given the row's values of all types; above 0 where the value is.
  //   heap       objects that were sampled: of N objects of s bytes each, sampled every P bytes on average, N (1 - e^(-s/P)) (tcmalloc's
  //              and Go's sampling; the values in profiles are already scaled up)
  //   the type that counts (samples, contentions; else the first in that unit)      its value, over the period where that is of this type
  //   else       as of the type that counts; without one the value over the period, where the period is in its unit; without that, one for
  //              the row
  double behind(size_t type, std::span<const int64_t> values) const;

 private:
  enum class Source { kValue, kSibling, kHeap, kPeriod, kRow };
  struct Type {
    Source source = Source::kRow;
    size_t objects = 0;  // indexes of types: of kHeap; of kSibling the one that counts
    size_t bytes = 0;
    double period = 0;  // of kPeriod in the type's unit, of kHeap in bytes
  };

  std::vector<Type> types_;
};

// What the samples of one type stand for: whether all for as much.
class SampleWeights {
 public:
  void add(double value, double samples);

  double samples() const { return samples_; }
  // All samples stand for as much, but not for one unit of the value (which is its own number of samples, however large), and there is a
  // whole number of them in each row: hits can be samples.
  bool are_hits() const { return weight_ && !differ_ && are_whole_ && *weight_ != 1; }
  bool differ() const { return differ_; }

 private:
  double samples_ = 0;
  std::optional<double> weight_;  // of the first
  bool differ_ = false;
  bool are_whole_ = true;
};

}  // namespace plimsoll::formats
