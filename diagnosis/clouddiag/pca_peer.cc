#include "diagnosis/clouddiag/pca_peer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/sort_stably.h"
#include "base/stop_scope.h"
#include "diagnosis/rpca/robust_pca.h"
#include "diagnosis/rpca/symmetric_eigen.h"
#include "statistics/rank_test.h"
#include "statistics/student_t.h"

namespace plimsoll::diagnosis {
namespace {

void standardize(Matrix& matrix) {
  const auto rows = static_cast<double>(matrix.rows());
  for (size_t column = 0; column < matrix.columns(); ++column) {
    double sum = 0;
    double squares = 0;
    for (size_t row = 0; row < matrix.rows(); ++row) {
      const auto value = static_cast<double>(matrix.at(row, column));
      sum += value;
      squares += value * value;
    }
    const double mean = sum / rows;
    const double deviation = std::sqrt(std::max(0.0, squares / rows - mean * mean));
    for (size_t row = 0; row < matrix.rows(); ++row) {
      const double value = static_cast<double>(matrix.at(row, column)) - mean;
      matrix.at(row, column) = static_cast<float>(deviation > 0 ? value / deviation : 0);
    }
  }
}

// Of the largest matrix a row takes 10 ms.
constexpr size_t kRowsBetweenChecks = 64;

Status goes_on_with(size_t row) {
  return row % kRowsBetweenChecks == 0 ? check_stop() : Status();
}

Result<SymmetricEigen> covariance_eigen(const Matrix& matrix) {
  const size_t n = matrix.columns();
  std::vector<double> covariance(n * n);
  for (size_t row = 0; row < matrix.rows(); ++row) {
    if (const Status goes_on = goes_on_with(row); !goes_on) {
      return propagate(goes_on);
    }
    const auto values = matrix.row(row);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = i; j < n; ++j) {
        covariance[i * n + j] += static_cast<double>(values[i]) * static_cast<double>(values[j]);
      }
    }
  }
  for (double& value : covariance) {
    value /= static_cast<double>(matrix.rows());
  }
  return symmetric_eigen(std::move(covariance), n);
}

// The limit of the squared prediction error with `rest` as the eigenvalues that the model leaves.
double q_limit(std::span<const double> rest, double alpha) {
  double theta1 = 0;
  double theta2 = 0;
  double theta3 = 0;
  for (const double value : rest) {
    const double positive = std::max(0.0, value);
    theta1 += positive;
    theta2 += positive * positive;
    theta3 += positive * positive * positive;
  }
  if (theta2 == 0) {
    return std::numeric_limits<double>::infinity();
  }
  const double h = 1 - 2 * theta1 * theta3 / (3 * theta2 * theta2);
  const double quantile = statistics::student_t_quantile(1 - alpha, std::numeric_limits<double>::infinity());
  const double base =
      quantile * std::sqrt(2 * theta2 * h * h) / theta1 + 1 + theta2 * h * (h - 1) / (theta1 * theta1);
  return base <= 0 || h <= 0 ? std::numeric_limits<double>::infinity() : theta1 * std::pow(base, 1 / h);
}

// Methods that take longer in anomalous requests than in the others.
std::vector<SuspectMethod> suspects_among(const Matrix& ms, const std::vector<uint8_t>& is_anomalous,
                                          double alpha) {
  const double min_z = statistics::student_t_quantile(1 - alpha, std::numeric_limits<double>::infinity());
  std::vector<SuspectMethod> suspects;
  for (size_t column = 0; column < ms.columns(); ++column) {
    std::vector<double> anomalous;
    std::vector<double> usual;
    for (size_t row = 0; row < ms.rows(); ++row) {
      (is_anomalous[row] != 0 ? anomalous : usual).push_back(static_cast<double>(ms.at(row, column)));
    }
    std::ranges::sort(anomalous);
    std::ranges::sort(usual);
    const double z = statistics::mann_whitney(anomalous, usual).z;
    if (z > min_z) {
      suspects.push_back({column, z});
    }
  }
  sort_stably(suspects, [](const SuspectMethod& suspect) { return -suspect.z; });
  return suspects;
}

}  // namespace

Result<PcaResult> pca_mann_whitney(const RequestMatrix& requests, const PcaOptions& options) {
  if (requests.methods.size() > kMaxRpcaColumns) {
    return with_hint(fail(ErrorCode::kTooLarge, "{} methods; at most {} are compared",
                          requests.methods.size(), kMaxRpcaColumns),
                     "choose a shorter window and reference");
  }
  Matrix matrix = requests.ms;
  PcaResult result;
  if (matrix.rows() < 2) {
    return result;
  }
  standardize(matrix);
  const auto eigen = covariance_eigen(matrix);
  if (!eigen) {
    return propagate(eigen);
  }
  std::vector<size_t> order(matrix.columns());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, std::greater<>(), [&eigen](size_t i) { return eigen->values[i]; });
  const double total = std::accumulate(eigen->values.begin(), eigen->values.end(), 0.0);
  size_t kept = 0;
  for (double sum = 0; kept < order.size() && sum < options.variance * total; ++kept) {
    sum += eigen->values[order[kept]];
  }
  std::vector<double> rest;
  for (size_t i = kept; i < order.size(); ++i) {
    rest.push_back(eigen->values[order[i]]);
  }
  const double limit = q_limit(rest, options.request_alpha);
  std::vector<uint8_t> is_anomalous(matrix.rows());
  for (size_t row = 0; row < matrix.rows(); ++row) {
    if (const Status goes_on = goes_on_with(row); !goes_on) {
      return propagate(goes_on);
    }
    const auto values = matrix.row(row);
    double error = 0;
    for (size_t i = kept; i < order.size(); ++i) {
      const auto vector = eigen->vector(order[i]);
      double along = 0;
      for (size_t j = 0; j < values.size(); ++j) {
        along += vector[j] * static_cast<double>(values[j]);
      }
      error += along * along;
    }
    is_anomalous[row] = error > limit ? 1 : 0;
    result.anomalous_requests += is_anomalous[row];
  }
  result.methods = suspects_among(requests.ms, is_anomalous, options.method_alpha);
  return result;
}

}  // namespace plimsoll::diagnosis
