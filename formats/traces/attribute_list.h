// Attributes of a resource and of the span at hand, with the texts that readers make of their values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/model/attribute_table.h"

namespace plimsoll::formats {

// Reused from span to span: resource attributes first, then end_resource(), then those of each span behind them.
class AttributeList {
 public:
  // Where they are not wanted nothing is kept.
  explicit AttributeList(bool is_wanted) : is_wanted_(is_wanted) {}

  bool is_wanted() const { return is_wanted_; }
  void clear() {
    text_.clear();
    places_.clear();
    resource_places_ = resource_text_ = 0;
  }
  void end_resource() {
    resource_places_ = places_.size();
    resource_text_ = text_.size();
  }
  // Back to those of the resource.
  void begin_span() {
    places_.resize(resource_places_);
    text_.resize(resource_text_);
  }
  // What no NameTable keeps whole is cut there. One more than an AttributeTable takes is kept, so that it knows that there were more: those of a
  // resource are read again for each of its spans.
  void take(std::string_view key, std::string_view value) {
    if (is_wanted_ && !key.empty() && !value.empty() && places_.size() <= traces::kMaxAttributesOfSpan) {
      places_.push_back({text_.size(), key.size(), value.size()});
      text_.append(key).append(value);
    }
  }
  // Borrowed until the next call of this object.
  std::span<const traces::Attribute> all() {
    views_.clear();
    const std::string_view text = text_;
    for (const Place& place : places_) {
      views_.push_back({text.substr(place.begin, place.key_bytes),
                        text.substr(place.begin + place.key_bytes, place.value_bytes)});
    }
    return views_;
  }

 private:
  struct Place {
    size_t begin = 0;
    size_t key_bytes = 0;
    size_t value_bytes = 0;
  };

  bool is_wanted_;
  std::string text_;
  std::vector<Place> places_;
  std::vector<traces::Attribute> views_;
  size_t resource_places_ = 0;
  size_t resource_text_ = 0;
};

}  // namespace plimsoll::formats
