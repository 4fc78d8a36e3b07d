#include "formats/sample_counts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "formats/event_meaning.h"

namespace plimsoll::formats {
namespace {

// By which quotients of the same numbers may differ.
constexpr double kRounding = 1e-9;

// Objects and bytes of the same heap; indexes of types.
struct HeapTypes {
  bool are_there = false;
  size_t objects = 0;
  size_t bytes = 0;
};

// That a type is one of: "inuse_space" and "inuse_objects".
HeapTypes heap_types_of(const std::vector<ValueType>& types, size_t type) {
  constexpr std::string_view kObjects = "objects";
  constexpr std::string_view kBytes = "space";
  std::string_view prefix = types[type].type;
  if (prefix.ends_with(kObjects)) {
    prefix.remove_suffix(kObjects.size());
  } else if (prefix.ends_with(kBytes)) {
    prefix.remove_suffix(kBytes.size());
  } else {
    return {};
  }
  const auto index_of = [&](std::string_view name) {
    const auto found = std::ranges::find(types, std::string(prefix) + std::string(name), &ValueType::type);
    return static_cast<size_t>(found - types.begin());
  };
  const HeapTypes heap{true, index_of(kObjects), index_of(kBytes)};
  const bool are_both = heap.objects < types.size() && heap.bytes < types.size();
  return are_both && meaning_of(types[heap.bytes]).unit == wire::BYTES ? heap : HeapTypes();
}

// The type that tells how often: one that says so, else the first count.
std::optional<size_t> counting_type(const std::vector<ValueType>& types) {
  constexpr std::array<std::string_view, 5> kCounting{"samples", "sample", "count", "contentions", "events"};
  std::optional<size_t> first;
  for (size_t type = 0; type < types.size(); ++type) {
    if (meaning_of(types[type]).unit != wire::COUNT) {
      continue;
    }
    if (std::ranges::find(kCounting, types[type].type) != kCounting.end()) {
      return type;
    }
    first = first.value_or(type);
  }
  return first;
}

}  // namespace

SampleCounts::SampleCounts(const ApplicationProfile& profile) : types_(profile.types.size()) {
  const auto unit_of = [&](size_t type) { return meaning_of(profile.types[type]).unit; };
  const EventMeaning of_period = meaning_of(profile.period_type);
  const double period =
      static_cast<double>(profile.period) * static_cast<double>(of_period.factor);  // in our unit
  const auto counting = counting_type(profile.types);
  for (size_t type = 0; type < types_.size(); ++type) {
    const HeapTypes heap = heap_types_of(profile.types, type);
    const bool is_periodic =
        unit_of(type) == of_period.unit && period > 1 &&
        (unit_of(type) != wire::COUNT || profile.period_type.type == profile.types[type].type);
    const auto factor = static_cast<double>(meaning_of(profile.types[type]).factor);
    if (heap.are_there) {
      types_[type] = {Source::kHeap, heap.objects, heap.bytes, of_period.unit == wire::BYTES ? period : 0};
    } else if (counting && type != *counting) {
      types_[type] = {Source::kSibling, *counting, 0, 0};
    } else if (is_periodic) {
      types_[type] = {Source::kPeriod, 0, 0, period / factor};
    } else if (type == counting) {
      types_[type].source = Source::kValue;
    }
  }
}

double SampleCounts::behind(size_t type, std::span<const int64_t> values) const {
  const auto value = [&](size_t of) { return static_cast<double>(values[of]); };
  const auto [source, objects, bytes, period] = types_[type];
  double samples = 0;
  switch (source) {
    case Source::kValue:
      samples = value(type);
      break;
    case Source::kSibling:
      return behind(objects, values);
    case Source::kHeap:
      samples = value(objects);
      if (samples > 0 && period > 1) {
        samples *= -std::expm1(-value(bytes) / value(objects) / period);
      }
      break;
    case Source::kPeriod:
      samples = value(type) / period;
      break;
    case Source::kRow:
      break;
  }
  return samples > 0 ? samples : 1;
}

void SampleWeights::add(double value, double samples) {
  const double weight = value / samples;
  samples_ += samples;
  differ_ = differ_ || (weight_ && std::abs(weight - *weight_) > kRounding * *weight_);
  are_whole_ = are_whole_ && samples == std::floor(samples);
  weight_ = weight_.value_or(weight);
}

}  // namespace plimsoll::formats
