#include "diagnosis/rpca/symmetric_eigen.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace plimsoll::diagnosis {
namespace {

// A symmetric matrix with three diagonals, and the orthogonal matrix that leads to it. All loops run along rows, so that they vectorize.
class Tridiagonal {
 public:
  Tridiagonal(std::vector<double> matrix, size_t size)
      : n_(size), a_(std::move(matrix)), diagonal_(size), beside_(size) {
    for (size_t i = 0; i < n_; ++i) {
      for (size_t j = 0; j < i; ++j) {
        a_[i * n_ + j] = a_[j * n_ + i];
      }
    }
    reduce();
    accumulate();
  }

  SymmetricEigen diagonalize() {
    for (size_t l = 0; l < n_; ++l) {
      // Twice is usual; QL always converges, but for rounding.
      constexpr int kMaxRounds = 80;
      for (int round = 0; round < kMaxRounds; ++round) {
        const size_t m = next_split(l);
        if (m == l) {
          break;
        }
        chase(l, m);
      }
    }
    return {n_, std::move(diagonal_), std::move(vectors_)};
  }

 private:
  double* row(size_t i) { return a_.data() + i * n_; }

  // For each k a reflection I - beta v v' that clears column k below the diagonal. v overwrites row k from k + 1 on.
  void reduce() {
    betas_.assign(n_, 0);
    std::vector<double> p(n_);
    for (size_t k = 0; k + 1 < n_; ++k) {
      double* const v = row(k);
      diagonal_[k] = v[k];
      double below = 0;
      for (size_t i = k + 2; i < n_; ++i) {
        below += v[i] * v[i];
      }
      const double first = v[k + 1];
      if (below == 0) {
        beside_[k] = first;
        continue;
      }
      const double norm = std::sqrt(first * first + below);
      const double alpha = first > 0 ? -norm : norm;
      beside_[k] = alpha;
      v[k + 1] = first - alpha;
      const double beta = 2 / (v[k + 1] * v[k + 1] + below);
      betas_[k] = beta;
      for (size_t i = k + 1; i < n_; ++i) {
        p[i] = beta * std::inner_product(v + k + 1, v + n_, row(i) + k + 1, 0.0);
      }
      const double half = beta / 2 * std::inner_product(v + k + 1, v + n_, p.data() + k + 1, 0.0);
      for (size_t i = k + 1; i < n_; ++i) {
        p[i] -= half * v[i];
      }
      for (size_t i = k + 1; i < n_; ++i) {
        double* const a = row(i);
        const double vi = v[i];
        const double pi = p[i];
        for (size_t j = k + 1; j < n_; ++j) {
          a[j] -= vi * p[j] + pi * v[j];
        }
      }
    }
    if (n_ > 0) {
      diagonal_[n_ - 1] = row(n_ - 1)[n_ - 1];
    }
  }

  // The product of the reflections, transposed: rows become eigenvectors. With Q = H0 H1 ... and Q' = ... H1 H0, each reflection is applied
  // from the right, to rows.
  void accumulate() {
    vectors_.assign(n_ * n_, 0);
    for (size_t i = 0; i < n_; ++i) {
      vectors_[i * n_ + i] = 1;
    }
    for (size_t k = n_; k-- > 0;) {
      if (betas_[k] == 0) {
        continue;
      }
      const double* const v = row(k);
      for (size_t i = k + 1; i < n_; ++i) {
        double* const z = vectors_.data() + i * n_;
        const double along = betas_[k] * std::inner_product(v + k + 1, v + n_, z + k + 1, 0.0);
        for (size_t j = k + 1; j < n_; ++j) {
          z[j] -= along * v[j];
        }
      }
    }
  }

  // The first place from l on where the matrix falls into two.
  size_t next_split(size_t l) const {
    size_t m = l;
    while (m + 1 < n_) {
      const double around = std::abs(diagonal_[m]) + std::abs(diagonal_[m + 1]);
      if (std::abs(beside_[m]) <= std::numeric_limits<double>::epsilon() * around) {
        break;
      }
      ++m;
    }
    return m;
  }

  // One implicit QL step with Wilkinson's shift on rows l to m.
  void chase(size_t l, size_t m) {
    double g = (diagonal_[l + 1] - diagonal_[l]) / (2 * beside_[l]);
    double r = std::hypot(g, 1.0);
    g = diagonal_[m] - diagonal_[l] + beside_[l] / (g + std::copysign(r, g));
    double s = 1;
    double c = 1;
    double p = 0;
    for (size_t i = m; i-- > l;) {
      const double f = s * beside_[i];
      const double b = c * beside_[i];
      r = std::hypot(f, g);
      beside_[i + 1] = r;
      if (r == 0) {
        diagonal_[i + 1] -= p;
        beside_[m] = 0;
        return;
      }
      s = f / r;
      c = g / r;
      g = diagonal_[i + 1] - p;
      r = (diagonal_[i] - g) * s + 2 * c * b;
      p = s * r;
      diagonal_[i + 1] = g + p;
      g = c * r - b;
      rotate(i, s, c);
    }
    diagonal_[l] -= p;
    beside_[l] = g;
    beside_[m] = 0;
  }

  void rotate(size_t i, double s, double c) {
    double* const low = vectors_.data() + i * n_;
    double* const high = low + n_;
    for (size_t k = 0; k < n_; ++k) {
      const double f = high[k];
      high[k] = s * low[k] + c * f;
      low[k] = c * low[k] - s * f;
    }
  }

  const size_t n_;
  std::vector<double> a_;
  std::vector<double> diagonal_;
  std::vector<double> beside_;  // [i] between rows i and i + 1
  std::vector<double> betas_;
  std::vector<double> vectors_;
};

}  // namespace

SymmetricEigen symmetric_eigen(std::vector<double> matrix, size_t size) {
  return Tridiagonal(std::move(matrix), size).diagonalize();
}

}  // namespace plimsoll::diagnosis
