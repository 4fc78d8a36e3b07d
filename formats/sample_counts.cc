#include "formats/sample_counts.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "formats/event_meaning.h"

namespace plimsoll::formats {
namespace {

// By which quotients of the same numbers may differ.
constexpr double kRounding = 1e-9;

std::optional<size_t> index_of(const std::vector<ValueType>& types, const std::string& name) {
  const auto found = std::ranges::find(types, name, &ValueType::type);
  return found == types.end() ? std::nullopt : std::optional<size_t>(found - types.begin());
}

// "inuse_" of "inuse_space" and "inuse_objects"; nothing of others.
std::optional<std::string> heap_prefix(std::string_view type) {
  for (const std::string_view suffix : {"space", "objects"}) {
    if (type.ends_with(suffix)) {
      return std::string(type.substr(0, type.size() - suffix.size()));
    }
  }
  return std::nullopt;
}

}  // namespace

SampleCounts::SampleCounts(const ApplicationProfile& profile) : types_(profile.types.size()) {
  const auto unit_of = [&](size_t type) { return meaning_of(profile.types[type]).unit; };
  const EventMeaning of_period = meaning_of(profile.period_type);
  const double period =
      static_cast<double>(profile.period) * static_cast<double>(of_period.factor);  // in our unit
  const auto counting = [&]() -> std::optional<size_t> {
    for (size_t type = 0; type < types_.size(); ++type) {
      if (unit_of(type) == wire::COUNT) {
        return type;
      }
    }
    return std::nullopt;
  }();
  for (size_t type = 0; type < types_.size(); ++type) {
    const auto prefix = heap_prefix(profile.types[type].type);
    const auto objects = prefix ? index_of(profile.types, *prefix + "objects") : std::nullopt;
    const auto bytes = prefix ? index_of(profile.types, *prefix + "space") : std::nullopt;
    if (objects && bytes && unit_of(*bytes) == wire::BYTES) {
      types_[type] = {Source::kHeap, *objects, *bytes, of_period.unit == wire::BYTES ? period : 0};
    } else if (unit_of(type) == wire::COUNT) {
      types_[type].source = Source::kValue;
    } else if (counting) {
      types_[type] = {Source::kSibling, *counting, 0, 0};
    } else if (unit_of(type) == of_period.unit && period > 0) {
      const auto factor = static_cast<double>(meaning_of(profile.types[type]).factor);
      types_[type] = {Source::kPeriod, 0, 0, period / factor};
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
      samples = value(objects);
      break;
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
