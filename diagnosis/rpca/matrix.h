// A dense matrix, rows one after the other.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace plimsoll::diagnosis {

// Single precision: what is measured has three digits, and the decomposition reads it some forty times.
class Matrix {
 public:
  Matrix() = default;
  Matrix(size_t rows, size_t columns) : rows_(rows), columns_(columns), values_(rows * columns) {}

  size_t rows() const { return rows_; }
  size_t columns() const { return columns_; }
  float& at(size_t row, size_t column) { return values_[row * columns_ + column]; }
  float at(size_t row, size_t column) const { return values_[row * columns_ + column]; }
  std::span<float> row(size_t row) { return std::span(values_).subspan(row * columns_, columns_); }
  std::span<const float> row(size_t row) const {
    return std::span(values_).subspan(row * columns_, columns_);
  }
  std::span<float> values() { return values_; }
  std::span<const float> values() const { return values_; }

 private:
  size_t rows_ = 0;
  size_t columns_ = 0;
  std::vector<float> values_;
};

}  // namespace plimsoll::diagnosis
