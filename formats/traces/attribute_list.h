// Attributes of a resource and of the span at hand, with the texts that readers make of their values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/model/attribute_table.h"
#include "traces/model/name_table.h"
#include "traces/model/span_set.h"

namespace plimsoll::formats {

// Reused from span to span: resource attributes first, then end_resource(), then those of each span behind them.
class AttributeList {
 public:
  // Only what the set keeps is kept here, too. Borrows it.
  explicit AttributeList(const traces::SpanSet& spans)
      : is_wanted_(spans.keeps_attributes()), only_(spans.limits().attributes.only) {}

  bool is_wanted() const { return is_wanted_; }
  void clear() {
    text_.clear();
    places_.clear();
    resource_places_ = resource_text_ = 0;
  }
  // They are handed over with each span of the resource: as shown, a NameTable finds them at once.
  void end_resource() {
    std::string shown;
    for (Place& place : places_) {
      const std::string key = traces::shown_name(key_of(place));
      const std::string value = traces::shown_name(value_of(place));
      place = {shown.size(), key.size(), value.size()};
      shown.append(key).append(value);
    }
    text_ = std::move(shown);
    resource_places_ = places_.size();
    resource_text_ = text_.size();
  }
  // Back to those of the resource.
  void begin_span() {
    places_.resize(resource_places_);
    text_.resize(resource_text_);
  }
  // What no NameTable keeps whole is cut there. Of a repeated key the last value counts. Where only some keys are wanted a repeated one takes
  // the place of the one before, so that a resource with many of them costs no more for each of its spans. Else one more than an
  // AttributeTable takes is kept, so that it knows that there were more.
  void take(std::string_view key, std::string_view value) {
    if (!is_wanted_ || key.empty() || value.empty()) {
      return;
    }
    if (only_.empty()) {
      if (places_.size() <= traces::kMaxAttributesOfSpan) {
        places_.push_back(added(key, value));
      }
      return;
    }
    if (std::ranges::find(only_, key) == only_.end()) {
      return;
    }
    // Not those of the resource, to which begin_span() goes back.
    const auto section = std::span(places_).subspan(resource_places_);
    const auto known =
        std::ranges::find_if(section, [&](const Place& place) { return key_of(place) == key; });
    if (known != section.end()) {
      *known = added(key, value);
    } else {
      places_.push_back(added(key, value));
    }
  }
  // Borrowed until the next call of this object.
  std::span<const traces::Attribute> all() {
    views_.clear();
    for (const Place& place : places_) {
      views_.push_back({key_of(place), value_of(place)});
    }
    return views_;
  }

 private:
  struct Place {
    size_t begin = 0;
    size_t key_bytes = 0;
    size_t value_bytes = 0;
  };

  Place added(std::string_view key, std::string_view value) {
    const Place place{text_.size(), key.size(), value.size()};
    text_.append(key).append(value);
    return place;
  }
  std::string_view key_of(const Place& place) const {
    return std::string_view(text_).substr(place.begin, place.key_bytes);
  }
  std::string_view value_of(const Place& place) const {
    return std::string_view(text_).substr(place.begin + place.key_bytes, place.value_bytes);
  }

  bool is_wanted_;
  std::span<const std::string> only_;
  std::string text_;
  std::vector<Place> places_;
  std::vector<traces::Attribute> views_;
  size_t resource_places_ = 0;
  size_t resource_text_ = 0;
};

}  // namespace plimsoll::formats
