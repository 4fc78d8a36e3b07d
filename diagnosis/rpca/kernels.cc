#include "diagnosis/rpca/kernels.h"

#include <algorithm>
#include <cstring>

namespace plimsoll::diagnosis {
namespace {

// A sanitizer's runtime is not ready when the dynamic linker chooses among clones.
#if defined(__x86_64__) && !defined(PLIMSOLL_SANITIZED)
#define PLIMSOLL_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PLIMSOLL_CLONES
#endif
#define PLIMSOLL_INLINE inline __attribute__((always_inline))

// 64 bytes: a register of AVX-512, two of AVX2, four of SSE2.
using Floats = float __attribute__((vector_size(64)));
using Doubles = double __attribute__((vector_size(64)));
constexpr size_t kFloats = 16;
constexpr size_t kDoubles = 8;

// By reference: a vector as value has another calling convention in each clone.
template <typename Vector, typename Scalar>
PLIMSOLL_INLINE void load(Vector& vector, const Scalar* from) {
  std::memcpy(&vector, from, sizeof vector);
}
template <typename Vector, typename Scalar>
PLIMSOLL_INLINE void store(const Vector& vector, Scalar* to) {
  std::memcpy(to, &vector, sizeof vector);
}

// out = block factor, of kBlockRows rows. Tiles of 6 rows and 16 columns: twelve sums in registers of AVX2, six of AVX-512.
PLIMSOLL_INLINE void multiply(const float* block, size_t stride, const float* factor, float* out) {
  constexpr size_t kTileRows = 6;
  static_assert(kBlockRows % kTileRows == 0);
  for (size_t row = 0; row < kBlockRows; row += kTileRows) {
    const float* const rows = block + row * stride;
    for (size_t column = 0; column < stride; column += kFloats) {
      Floats sums[kTileRows] = {};
      for (size_t k = 0; k < stride; ++k) {
        Floats of_factor;
        load(of_factor, factor + k * stride + column);
        for (size_t i = 0; i < kTileRows; ++i) {
          sums[i] += rows[i * stride + k] * of_factor;
        }
      }
      for (size_t i = 0; i < kTileRows; ++i) {
        store(sums[i], out + (row + i) * stride + column);
      }
    }
  }
}

// gram += block' block, of kBlockRows rows: tiles of 4 by 8 that reach the diagonal or lie above it.
PLIMSOLL_INLINE void add_gram(const double* block, size_t stride, double* gram) {
  constexpr size_t kTileRows = 4;
  for (size_t i = 0; i < stride; i += kTileRows) {
    for (size_t j = i / kDoubles * kDoubles; j < stride; j += kDoubles) {
      Doubles sums[kTileRows] = {};
      for (size_t row = 0; row < kBlockRows; ++row) {
        const double* const of_row = block + row * stride;
        Doubles right;
        load(right, of_row + j);
        for (size_t tile = 0; tile < kTileRows; ++tile) {
          sums[tile] += of_row[i + tile] * right;
        }
      }
      for (size_t tile = 0; tile < kTileRows; ++tile) {
        double* const to = gram + (i + tile) * stride + j;
        Doubles sum;
        load(sum, to);
        sum += sums[tile];
        store(sum, to);
      }
    }
  }
}

PLIMSOLL_INLINE float clamped(float value, float limit) {
  return value > limit ? limit : value < -limit ? -limit : value;
}

}  // namespace

PLIMSOLL_CLONES
void rpca_pass(const float* m, float* w, size_t rows, size_t columns, size_t stride, const float* shrinkage,
               const PassFactors& factors, PassBuffers& buffers) {
  const auto [before_limit, before_ratio, limit, next_ratio] = factors;
  float* const target = buffers.target.data();
  float* const product = buffers.product.data();
  double* const next = buffers.next.data();
  for (size_t begin = 0; begin < rows; begin += kBlockRows) {
    const size_t count = std::min(kBlockRows, rows - begin);
    if (count < kBlockRows) {
      std::fill(buffers.target.begin(), buffers.target.end(), 0.0F);
      std::fill(buffers.next.begin(), buffers.next.end(), 0.0);
    }
    for (size_t row = 0; row < count; ++row) {
      const float* const m_row = m + (begin + row) * columns;
      const float* const w_row = w + (begin + row) * columns;
      float* const t_row = target + row * stride;
      for (size_t j = 0; j < columns; ++j) {
        const float c = clamped(w_row[j], before_limit);
        t_row[j] = m_row[j] - w_row[j] + c + c * before_ratio;
      }
    }
    multiply(target, stride, shrinkage, product);
    double residual = 0;
    for (size_t row = 0; row < count; ++row) {
      const float* const m_row = m + (begin + row) * columns;
      float* const w_row = w + (begin + row) * columns;
      const float* const t_row = target + row * stride;
      const float* const p_row = product + row * stride;
      double* const n_row = next + row * stride;
      float of_row = 0;
      for (size_t j = 0; j < columns; ++j) {
        const float scaled = clamped(w_row[j], before_limit) * before_ratio;  // Y / mu
        const float low_rank = t_row[j] - p_row[j];
        const float moved = m_row[j] - low_rank + scaled;
        const float c = clamped(moved, limit);
        const float z = c - scaled;
        of_row += z * z;
        w_row[j] = moved;
        n_row[j] = static_cast<double>(m_row[j] - moved + c + c * next_ratio);
      }
      residual += static_cast<double>(of_row);
    }
    buffers.residual += residual;
    add_gram(next, stride, buffers.gram.data());
  }
}

PLIMSOLL_CLONES
void gram_pass(const float* m, size_t rows, size_t columns, size_t stride, PassBuffers& buffers) {
  double* const next = buffers.next.data();
  for (size_t begin = 0; begin < rows; begin += kBlockRows) {
    const size_t count = std::min(kBlockRows, rows - begin);
    if (count < kBlockRows) {
      std::fill(buffers.next.begin(), buffers.next.end(), 0.0);
    }
    for (size_t row = 0; row < count; ++row) {
      for (size_t j = 0; j < columns; ++j) {
        next[row * stride + j] = static_cast<double>(m[(begin + row) * columns + j]);
      }
    }
    add_gram(next, stride, buffers.gram.data());
  }
}

}  // namespace plimsoll::diagnosis
