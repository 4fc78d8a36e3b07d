// A value for each dictionary ID, as requests carry it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace plimsoll::store {

// Of the IDs from 0 on, below its size. Immutable: a copy costs nothing and shares the values, any number of threads may read it. Who reads a value
// for each row takes values() once.
template <typename Value>
class IdTable {
 public:
  // Of no IDs.
  IdTable() = default;
  explicit IdTable(std::vector<Value> values)
      : values_(std::make_shared<const std::vector<Value>>(std::move(values))) {}
  IdTable(std::initializer_list<Value> values) : IdTable(std::vector<Value>(values)) {}

  std::span<const Value> values() const {
    return values_ == nullptr ? std::span<const Value>() : std::span<const Value>(*values_);
  }
  size_t size() const { return values().size(); }
  bool empty() const { return values().empty(); }
  const Value& operator[](size_t id) const { return (*values_)[id]; }
  // To make another table of.
  std::vector<Value> copy() const { return values_ == nullptr ? std::vector<Value>() : *values_; }

 private:
  std::shared_ptr<const std::vector<Value>> values_;  // absent: of no IDs
};

}  // namespace plimsoll::store
