// The inner loops of the decomposition, compiled for what the processor has (AVX-512, AVX2, or neither). Internal to diagnosis/rpca.
#pragma once

#include <cstddef>
#include <vector>

namespace plimsoll::diagnosis {

// Columns of buffers: a multiple of what one register holds, the rest zeros.
inline constexpr size_t kColumnStep = 16;
inline size_t padded(size_t columns) {
  return (columns + kColumnStep - 1) / kColumnStep * kColumnStep;
}

// Rows that are worked on at once: what they take fits into the first cache.
inline constexpr size_t kBlockRows = 24;

// Of one part of the rows.
struct PassBuffers {
  explicit PassBuffers(size_t stride)
      : target(kBlockRows * stride),
        product(kBlockRows * stride),
        next(kBlockRows * stride),
        gram(stride * stride) {}

  std::vector<float> target;   // T of some rows
  std::vector<float> product;  // T Q
  std::vector<double> next;    // T of the next iteration
  std::vector<double> gram;    // sum of T'T over the rows of this part; tiles on and above the diagonal
  double residual = 0;         // sum of squares of M - L - E
};

// What one iteration does with each row, see robust_pca.cc. W, the clamped part of which is Y / mu and the rest E, is all the state that
// there is beside M.
struct PassFactors {
  float before_limit = 0;  // lambda / mu of the iteration before
  float before_ratio = 0;  // mu of it / mu
  float limit = 0;         // lambda / mu
  float next_ratio = 0;    // mu / mu of the next iteration
};

// Rows of M and W, `columns` wide. `shrinkage` is Q, stride x stride. Adds to buffers.gram and buffers.residual.
void rpca_pass(const float* m, float* w, size_t rows, size_t columns, size_t stride, const float* shrinkage,
               const PassFactors& factors, PassBuffers& buffers);

// Adds M'M of these rows to buffers.gram.
void gram_pass(const float* m, size_t rows, size_t columns, size_t stride, PassBuffers& buffers);

}  // namespace plimsoll::diagnosis
