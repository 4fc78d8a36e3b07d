// Reads a linkage name from its start to its end, never beyond.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "symbolizer/names/characters.h"

namespace plimsoll::symbolizer {

class NameCursor {
 public:
  explicit NameCursor(std::string_view name) : name_(name) {}

  bool is_at_end() const { return at_ == name_.size(); }
  size_t at() const { return at_; }
  // Not beyond the end.
  void move_to(size_t at) { at_ = at; }
  std::string_view rest() const { return name_.substr(at_); }

  // '\0' beyond the end.
  char peek(size_t ahead = 0) const { return ahead < name_.size() - at_ ? name_[at_ + ahead] : '\0'; }
  char next() { return is_at_end() ? '\0' : name_[at_++]; }

  bool take(char wanted) { return take(std::string_view(&wanted, 1)); }
  bool take(std::string_view wanted) {
    const bool is_there = rest().starts_with(wanted);
    at_ += is_there ? wanted.size() : 0;
    return is_there;
  }

  // A decimal number; nothing: there is none, or one beyond the name's length, which no count in a name is.
  std::optional<size_t> number() {
    if (!is_digit(peek())) {
      return std::nullopt;
    }
    size_t value = 0;
    while (is_digit(peek())) {
      value = value * 10 + static_cast<size_t>(next() - '0');
      if (value > name_.size()) {
        return std::nullopt;
      }
    }
    return value;
  }

  // The next `size` characters; nothing: there are fewer.
  std::optional<std::string_view> text(size_t size) {
    if (size > name_.size() - at_) {
      return std::nullopt;
    }
    at_ += size;
    return name_.substr(at_ - size, size);
  }

 private:
  std::string_view name_;
  size_t at_ = 0;
};

}  // namespace plimsoll::symbolizer
