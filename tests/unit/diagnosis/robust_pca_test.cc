#include "diagnosis/rpca/robust_pca.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "diagnosis/rpca/symmetric_eigen.h"

namespace plimsoll::diagnosis {
namespace {

std::vector<double> random_symmetric(size_t size, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> matrix(size * size);
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = i; j < size; ++j) {
      matrix[i * size + j] = matrix[j * size + i] = normal(random);
    }
  }
  return matrix;
}

// A v = lambda v, and vectors of length 1 that are orthogonal.
void expect_eigen(const std::vector<double>& matrix, size_t size) {
  const SymmetricEigen eigen = symmetric_eigen(matrix, size);
  for (size_t i = 0; i < size; ++i) {
    const auto v = eigen.vector(i);
    for (size_t row = 0; row < size; ++row) {
      double sum = 0;
      for (size_t k = 0; k < size; ++k) {
        sum += matrix[row * size + k] * v[k];
      }
      EXPECT_NEAR(sum, eigen.values[i] * v[row], 1e-10 * static_cast<double>(size));
    }
    for (size_t j = 0; j <= i; ++j) {
      double product = 0;
      for (size_t k = 0; k < size; ++k) {
        product += v[k] * eigen.vector(j)[k];
      }
      EXPECT_NEAR(product, i == j ? 1 : 0, 1e-11);
    }
  }
}

TEST(SymmetricEigen, HasVectorsOfAnySize) {
  std::mt19937_64 random(1);
  for (const size_t size : {1, 2, 3, 7, 40}) {
    expect_eigen(random_symmetric(size, random), size);
  }
}

TEST(SymmetricEigen, OfMatricesWithoutFullRank) {
  expect_eigen(std::vector<double>(25, 0), 5);
  expect_eigen(std::vector<double>(25, 1), 5);
  std::vector<double> diagonal(16);
  for (size_t i = 0; i < 4; ++i) {
    diagonal[i * 5] = static_cast<double>(i % 2);
  }
  expect_eigen(diagonal, 4);
}

struct Parts {
  Matrix whole;
  Matrix low_rank;
  Matrix sparse;
};

// Rank 2, and one entry in forty that is off by something large: few enough that the paper's theorem holds for narrow matrices.
Parts made_of_parts(size_t rows, size_t columns, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Parts parts{Matrix(rows, columns), Matrix(rows, columns), Matrix(rows, columns)};
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<float> left(rows);
    std::vector<float> right(columns);
    for (auto* values : {&left, &right}) {
      std::ranges::generate(*values, [&] { return normal(random); });
    }
    for (size_t row = 0; row < rows; ++row) {
      for (size_t column = 0; column < columns; ++column) {
        parts.low_rank.at(row, column) += left[row] * right[column];
      }
    }
  }
  for (size_t i = 0; i < rows * columns; ++i) {
    parts.sparse.values()[i] = random() % 40 == 0 ? 10 * normal(random) : 0;
    parts.whole.values()[i] = parts.low_rank.values()[i] + parts.sparse.values()[i];
  }
  return parts;
}

double distance(const Matrix& left, const Matrix& right) {
  double difference = 0;
  double size = 0;
  for (size_t i = 0; i < left.values().size(); ++i) {
    difference += std::pow(static_cast<double>(left.values()[i] - right.values()[i]), 2);
    size += std::pow(static_cast<double>(right.values()[i]), 2);
  }
  return std::sqrt(difference / size);
}

TEST(RobustPca, RecoversWhatAMatrixWasMadeOf) {
  // Sizes around those of registers and blocks.
  for (const auto& [rows, columns] : {std::pair{300, 40}, std::pair{500, 48}, std::pair{239, 32}}) {
    const Parts parts = made_of_parts(static_cast<size_t>(rows), static_cast<size_t>(columns), 7);
    const auto found = robust_pca(parts.whole);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->has_converged);
    EXPECT_LT(found->residual, 1e-7);
    EXPECT_EQ(found->rank, 2) << rows << " x " << columns;
    EXPECT_LT(distance(found->low_rank, parts.low_rank), 2e-5) << rows << " x " << columns;
    EXPECT_LT(distance(found->sparse, parts.sparse), 2e-5) << rows << " x " << columns;
  }
}

// The paper's loop as it is written, in double precision and with a full singular value decomposition by way of the Gram matrix.
Parts by_the_book(const Matrix& matrix) {
  const size_t m = matrix.rows();
  const size_t n = matrix.columns();
  const double lambda = 1 / std::sqrt(static_cast<double>(std::max(m, n)));
  using Values = std::vector<double>;
  const Values M(matrix.values().begin(), matrix.values().end());
  const auto decompose = [&](const Values& t) {
    Values gram(n * n);
    for (size_t row = 0; row < m; ++row) {
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) {
          gram[i * n + j] += t[row * n + i] * t[row * n + j];
        }
      }
    }
    return symmetric_eigen(gram, n);
  };
  double norm = 0;
  double largest = 0;
  double frobenius = 0;
  for (const double value : decompose(M).values) {
    norm = std::max(norm, std::sqrt(std::max(0.0, value)));
  }
  for (const double value : M) {
    largest = std::max(largest, std::abs(value));
    frobenius += value * value;
  }
  double mu = 1.25 / norm;
  const double max_mu = mu * 1e7;
  Values y = M, e(M.size()), l(M.size()), t(M.size());
  for (double& value : y) {
    value /= std::max(norm, largest / lambda);
  }
  for (double residual = 1; residual > 1e-7;) {
    for (size_t i = 0; i < t.size(); ++i) {
      t[i] = M[i] - e[i] + y[i] / mu;
    }
    const SymmetricEigen eigen = decompose(t);
    std::ranges::fill(l, 0);
    for (size_t k = 0; k < n; ++k) {
      const double singular = std::sqrt(std::max(0.0, eigen.values[k]));
      const double factor = singular * mu > 1 ? 1 - 1 / (mu * singular) : 0;
      for (size_t row = 0; row < m; ++row) {
        double along = 0;
        for (size_t j = 0; j < n; ++j) {
          along += t[row * n + j] * eigen.vector(k)[j];
        }
        for (size_t j = 0; j < n; ++j) {
          l[row * n + j] += factor * along * eigen.vector(k)[j];
        }
      }
    }
    residual = 0;
    for (size_t i = 0; i < t.size(); ++i) {
      const double w = M[i] - l[i] + y[i] / mu;
      e[i] = w > lambda / mu ? w - lambda / mu : w < -lambda / mu ? w + lambda / mu : 0;
      const double z = M[i] - l[i] - e[i];
      y[i] += mu * z;
      residual += z * z;
    }
    residual = std::sqrt(residual / frobenius);
    mu = std::min(mu * 1.5, max_mu);
  }
  Parts parts{matrix, Matrix(m, n), Matrix(m, n)};
  std::ranges::transform(l, parts.low_rank.values().begin(),
                         [](double value) { return static_cast<float>(value); });
  std::ranges::transform(e, parts.sparse.values().begin(),
                         [](double value) { return static_cast<float>(value); });
  return parts;
}

// Times of calls, which are no sum of exact parts: the same as by the book nonetheless.
TEST(RobustPca, IsThePapersMethod) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<float> lognormal(0, 0.5);
  for (const auto& [rows, columns] : {std::pair{200, 20}, std::pair{1001, 33}}) {
    Matrix matrix(static_cast<size_t>(rows), static_cast<size_t>(columns));
    for (size_t row = 0; row < matrix.rows(); ++row) {
      const float of_request = lognormal(random);
      for (size_t column = 0; column < matrix.columns(); ++column) {
        matrix.at(row, column) = of_request * static_cast<float>(1 + column % 5) * lognormal(random);
      }
    }
    const Parts expected = by_the_book(matrix);
    const auto found = robust_pca(matrix);
    ASSERT_TRUE(found);
    EXPECT_LT(distance(found->low_rank, expected.low_rank), 1e-4) << rows << " x " << columns;
    EXPECT_LT(distance(found->sparse, expected.sparse), 1e-3) << rows << " x " << columns;
  }
}

TEST(RobustPca, DoesNotDependOnThreads) {
  const Parts parts = made_of_parts(9000, 20, 9);
  const auto one = robust_pca(parts.whole, {.threads = 1});
  const auto four = robust_pca(parts.whole, {.threads = 4});
  ASSERT_TRUE(one && four);
  EXPECT_EQ(one->iterations, four->iterations);
  EXPECT_TRUE(std::ranges::equal(one->low_rank.values(), four->low_rank.values()));
  EXPECT_TRUE(std::ranges::equal(one->sparse.values(), four->sparse.values()));
}

TEST(RobustPca, OfNothingIsNothing) {
  EXPECT_TRUE(robust_pca(Matrix())->has_converged);
  const auto zeros = robust_pca(Matrix(10, 3));
  ASSERT_TRUE(zeros);
  EXPECT_TRUE(zeros->has_converged);
  EXPECT_EQ(zeros->sparse.rows(), 10);
}

TEST(RobustPca, RefusesWhatIsNoNumber) {
  Matrix matrix(10, 3);
  matrix.at(4, 1) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(robust_pca(matrix).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(robust_pca(Matrix(1, 5000)).error().code, ErrorCode::kTooLarge);
}

TEST(RobustPca, EndsWithTheIterationsThatItMayTake) {
  EXPECT_FALSE(robust_pca(made_of_parts(300, 40, 7).whole, {.max_iterations = 3})->has_converged);
}

}  // namespace
}  // namespace plimsoll::diagnosis
