// NOLINTBEGIN
#pragma once

#include <array>
#include <cstddef>

namespace mix {

template <typename T, size_t N>
class Matrix {
 public:
  T& at(size_t row, size_t column) { return cells_[row * N + column]; }
  const T& at(size_t row, size_t column) const { return cells_[row * N + column]; }

  static Matrix identity() {
    Matrix result;
    for (size_t i = 0; i < N; ++i) {
      result.at(i, i) = T(1);
    }
    return result;
  }

  template <typename Make>
  static Matrix made_by(Make make) {
    Matrix result;
    for (size_t row = 0; row < N; ++row) {
      for (size_t column = 0; column < N; ++column) {
        result.at(row, column) = make(row, column);
      }
    }
    return result;
  }

  Matrix operator*(const Matrix& other) const {
    return made_by([&](size_t row, size_t column) {
      T sum = T();
      for (size_t i = 0; i < N; ++i) {
        sum += at(row, i) * other.at(i, column);
      }
      return sum;
    });
  }

  Matrix transposed() const {
    return made_by([this](size_t row, size_t column) { return at(column, row); });
  }

  __attribute__((noinline)) Matrix power(unsigned exponent) const {
    Matrix result = identity();
    for (Matrix factor = *this; exponent != 0; exponent /= 2) {
      if (exponent % 2 == 1) {
        result = result * factor;
      }
      factor = factor * factor;
    }
    return result;
  }

  T trace() const {
    T sum = T();
    for (size_t i = 0; i < N; ++i) {
      sum += at(i, i);
    }
    return sum;
  }

 private:
  std::array<T, N * N> cells_{};
};

}  // namespace mix
// NOLINTEND
