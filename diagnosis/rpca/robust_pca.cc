#include "diagnosis/rpca/robust_pca.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "base/run_both.h"
#include "base/stop_scope.h"
#include "diagnosis/rpca/kernels.h"
#include "diagnosis/rpca/symmetric_eigen.h"

namespace plimsoll::diagnosis {
namespace {

// Of rows; starting a thread costs as much as some hundred of them.
constexpr size_t kRowsOfPart = 2000;
constexpr size_t kMaxParts = 32;

// Into how many parts the rows are cut that are summed up by themselves. By the matrix alone: the order of sums decides the last digits,
// which must not depend on the number of processors. A part has more rows than its sums have, times four.
size_t parts_for(const Matrix& matrix) {
  return std::clamp<size_t>(matrix.rows() / std::max(kRowsOfPart, 4 * matrix.columns()), 1, kMaxParts);
}

size_t threads_for(size_t parts, size_t wanted) {
  const size_t available = wanted != 0 ? wanted : std::max(1U, std::thread::hardware_concurrency());
  return std::min(parts, available);
}

// The state of the iteration. With lambda = 1 / sqrt(max(m, n)) an iteration of the paper is
//
//   T = M - E + Y / mu;  L = U shrink(S, 1 / mu) V' where T = U S V'
//   W = M - L + Y / mu;  E = shrink(W, lambda / mu);  Y = Y + mu (M - L - E)
//
// - T is tall, so U S V' comes from T'T = V S^2 V': L = T V f V' with f = max(0, 1 - 1 / (mu s)), which is T - T Q with
//   Q = V (1 - f) V'. Subtracting keeps single precision: in late iterations T Q is small.
// - Y = mu (W - E), which is mu clamp(W, lambda / mu), and E is the rest of W: W is all that is kept beside M.
// - T'T of the next iteration is summed up while the rows of this one are in the cache, in double precision: singular values down to 1e-8
//   of the largest are told apart from noise.
class Pursuit {
 public:
  Pursuit(Matrix matrix, const RobustPcaOptions& options)
      : options_(options),
        m_(std::move(matrix)),
        w_(m_.rows(), m_.columns()),
        columns_(m_.columns()),
        stride_(padded(columns_)),
        lambda_(1 / std::sqrt(static_cast<double>(std::max(m_.rows(), columns_)))),
        shrinkage_(stride_ * stride_) {
    parts_.assign(parts_for(m_), PassBuffers(stride_));
  }

  Result<RobustPca> run() {
    if (!begin()) {
      return RobustPca{.low_rank = std::move(m_), .sparse = std::move(w_), .has_converged = true};
    }
    RobustPca done;
    while (done.iterations < options_.max_iterations && !done.has_converged) {
      if (auto goes_on = check_stop(); !goes_on) {
        return propagate(goes_on);
      }
      done.rank = set_shrinkage();
      done.residual = iterate();
      ++done.iterations;
      done.has_converged = done.residual < options_.tolerance;
    }
    split();
    done.low_rank = std::move(m_);
    done.sparse = std::move(w_);
    return done;
  }

 private:
  static constexpr double kMuGrowth = 1.5;  // rho
  static constexpr double kMaxMuFactor = 1e7;

  // False for a matrix of zeros.
  bool begin() {
    over_rows([this](size_t first, size_t rows, PassBuffers& part) {
      gram_pass(m_.row(0).data() + first * columns_, rows, columns_, stride_, part);
    });
    double trace = 0;
    std::vector<double> gram = take_gram();
    for (size_t i = 0; i < columns_; ++i) {
      trace += gram[i * columns_ + i];
    }
    frobenius_ = std::sqrt(trace);
    double max_value = 0;
    for (const float value : m_.values()) {
      max_value = std::max(max_value, static_cast<double>(std::abs(value)));
    }
    if (frobenius_ == 0) {
      return false;
    }
    gram_ = gram;
    double largest = 0;
    for (const double value : symmetric_eigen(std::move(gram), columns_).values) {
      largest = std::max(largest, value);
    }
    const double norm = std::sqrt(largest);
    mu_ = 1.25 / norm;
    max_mu_ = mu_ * kMaxMuFactor;
    before_mu_ = mu_ / kMuGrowth;
    // Y0 = M / max(||M||2, ||M||inf / lambda), which is within the clamp, so that W = Y0 / mu has no E yet.
    const double dual = std::max(norm, max_value / lambda_);
    const auto factor = static_cast<float>(1 / (dual * before_mu_));
    std::ranges::transform(m_.values(), w_.values().begin(),
                           [factor](float value) { return value * factor; });
    const double first_target = 1 + 1 / (dual * mu_);
    for (double& value : gram_) {
      value *= first_target * first_target;
    }
    return true;
  }

  // Q of T'T; returns the rank of L.
  size_t set_shrinkage() {
    const SymmetricEigen eigen = symmetric_eigen(std::move(gram_), columns_);
    std::vector<double> q(columns_ * columns_);
    size_t rank = 0;
    for (size_t i = 0; i < columns_; ++i) {
      const double singular = std::sqrt(std::max(0.0, eigen.values[i]));
      const bool is_kept = singular * mu_ > 1;
      rank += is_kept ? 1U : 0U;
      const double share = is_kept ? 1 / (mu_ * singular) : 1;
      const auto vector = eigen.vector(i);
      for (size_t row = 0; row < columns_; ++row) {
        const double factor = share * vector[row];
        double* const to = q.data() + row * columns_;
        for (size_t column = 0; column < columns_; ++column) {
          to[column] += factor * vector[column];
        }
      }
    }
    for (size_t row = 0; row < columns_; ++row) {
      std::transform(q.begin() + static_cast<ptrdiff_t>(row * columns_),
                     q.begin() + static_cast<ptrdiff_t>((row + 1) * columns_),
                     shrinkage_.begin() + static_cast<ptrdiff_t>(row * stride_),
                     [](double value) { return static_cast<float>(value); });
    }
    return rank;
  }

  double iterate() {
    const double next_mu = std::min(mu_ * kMuGrowth, max_mu_);
    const PassFactors factors{.before_limit = static_cast<float>(lambda_ / before_mu_),
                              .before_ratio = static_cast<float>(before_mu_ / mu_),
                              .limit = static_cast<float>(lambda_ / mu_),
                              .next_ratio = static_cast<float>(mu_ / next_mu)};
    over_rows([&](size_t first, size_t rows, PassBuffers& part) {
      rpca_pass(m_.row(0).data() + first * columns_, w_.row(0).data() + first * columns_, rows, columns_,
                stride_, shrinkage_.data(), factors, part);
    });
    gram_ = take_gram();
    double residual = 0;
    for (PassBuffers& part : parts_) {
      residual += std::exchange(part.residual, 0);
    }
    before_mu_ = mu_;
    mu_ = next_mu;
    return std::sqrt(residual) / frobenius_;
  }

  // E = W without its clamped part, and L = M - E, which is the paper's within the tolerance.
  void split() {
    const auto limit = static_cast<float>(lambda_ / before_mu_);
    for (size_t i = 0; i < m_.values().size(); ++i) {
      float& w = w_.values()[i];
      w -= std::clamp(w, -limit, limit);
      m_.values()[i] -= w;
    }
  }

  template <typename Work>
  void over_rows(const Work& work) {
    const size_t rows = m_.rows();
    const size_t each = (rows + parts_.size() - 1) / parts_.size();
    // A thread that another program keeps from running takes fewer parts.
    std::atomic<size_t> next = 0;
    run_all(threads_for(parts_.size(), options_.threads), [&](size_t) {
      for (size_t i = next++; i < parts_.size(); i = next++) {
        const size_t first = std::min(i * each, rows);
        std::ranges::fill(parts_[i].gram, 0.0);
        work(first, std::min(each, rows - first), parts_[i]);
      }
    });
  }

  // columns x columns, of all parts in their order; the upper triangle.
  std::vector<double> take_gram() {
    std::vector<double> gram(columns_ * columns_);
    for (const PassBuffers& part : parts_) {
      for (size_t i = 0; i < columns_; ++i) {
        for (size_t j = i; j < columns_; ++j) {
          gram[i * columns_ + j] += part.gram[i * stride_ + j];
        }
      }
    }
    return gram;
  }

  const RobustPcaOptions options_;
  Matrix m_;
  Matrix w_;
  const size_t columns_;
  const size_t stride_;
  const double lambda_;
  std::vector<float> shrinkage_;
  std::vector<PassBuffers> parts_;
  std::vector<double> gram_;  // of T of the next iteration
  double frobenius_ = 0;
  double mu_ = 0;
  double before_mu_ = 0;
  double max_mu_ = 0;
};

}  // namespace

Result<RobustPca> robust_pca(Matrix matrix, const RobustPcaOptions& options) {
  if (matrix.columns() > kMaxRpcaColumns) {
    return fail(ErrorCode::kTooLarge, "a matrix of {} columns; at most {} are decomposed", matrix.columns(),
                kMaxRpcaColumns);
  }
  if (matrix.rows() == 0 || matrix.columns() == 0) {
    return RobustPca{.low_rank = std::move(matrix), .sparse = {}, .has_converged = true};
  }
  if (!std::ranges::all_of(matrix.values(), [](float value) { return std::isfinite(value); })) {
    return fail(ErrorCode::kInvalid, "a matrix with values that are not finite");
  }
  return Pursuit(std::move(matrix), options).run();
}

}  // namespace plimsoll::diagnosis
