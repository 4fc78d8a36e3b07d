// NOLINTBEGIN
#include <utility>

#include "bits.h"
#include "matrix.h"
#include "parts.h"

namespace {

template <typename T>
T step(unsigned seed) {
  return static_cast<T>(blend(seed, 5) % 10);
}

template <typename T, size_t N>
__attribute__((noinline)) unsigned raised(unsigned seed) {
  const auto matrix = mix::Matrix<T, N>::made_by([&](size_t row, size_t column) {
    seed = blend(seed, static_cast<unsigned>(row * N + column));
    return step<T>(seed);
  });
  return static_cast<unsigned>((matrix.power(3) * matrix.transposed()).trace());
}

template <typename T, size_t... N>
unsigned all_sizes(unsigned seed, std::index_sequence<N...>) {
  return (raised<T, N + 2>(seed) + ...);
}

}  // namespace

unsigned matrices(unsigned seed) {
  using Sizes = std::make_index_sequence<3>;
  return all_sizes<int>(seed, Sizes()) + all_sizes<unsigned long>(seed, Sizes()) +
         all_sizes<double>(seed % 7, Sizes());
}
// NOLINTEND
