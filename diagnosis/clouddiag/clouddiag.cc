#include "diagnosis/clouddiag/clouddiag.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/sort_stably.h"
#include "diagnosis/rpca/robust_pca.h"
#include "statistics/robust.h"

namespace plimsoll::diagnosis {
namespace {

struct ReplicaEntries {
  size_t entries = 0;
  size_t large = 0;
};

// A replica is anomalous where more than these entries of E exceed this share of the method's middle.
constexpr double kLargeEntry = 0.8;
constexpr double kMinLargeShare = 0.3;
constexpr size_t kMinLargeEntries = 3;

// What is above 0 in a column of L + E: the times of requests that call the method.
std::vector<double> times_of_column(const RobustPca& parts, size_t column) {
  std::vector<double> values;
  for (size_t row = 0; row < parts.sparse.rows(); ++row) {
    const auto value = static_cast<double>(parts.low_rank.at(row, column) + parts.sparse.at(row, column));
    if (value > 0) {
      values.push_back(value);
    }
  }
  return values;
}

double middle_of_column(const RobustPca& parts, size_t column) {
  std::vector<double> times = times_of_column(parts, column);
  return statistics::median_of(times);
}

// Whether the column points elsewhere than L's by more than its usual scatter does: with a relative scatter s the square of the tangent
// between both is s^2.
bool is_beyond_scatter(const RobustPca& parts, size_t column, double cosine, double min_ratio) {
  std::vector<double> times = times_of_column(parts, column);
  const double middle = statistics::median_of(times);
  for (double& time : times) {
    time -= middle;
  }
  const double scatter = middle > 0 ? statistics::robust_deviation(times) / middle : 0;
  return (1 - cosine * cosine) > min_ratio * scatter * scatter * cosine * cosine;
}

std::vector<uint32_t> anomalous_replicas(const RequestMatrix& requests, const RobustPca& parts,
                                         size_t column) {
  const double middle = middle_of_column(parts, column);
  std::map<uint32_t, ReplicaEntries> by_replica;
  for (size_t row = 0; row < parts.sparse.rows(); ++row) {
    const uint32_t replica = requests.replica(row, column);
    if (replica != 0) {
      ReplicaEntries& of = by_replica[replica];
      ++of.entries;
      of.large += static_cast<double>(parts.sparse.at(row, column)) > kLargeEntry * middle ? 1U : 0U;
    }
  }
  std::vector<uint32_t> found;
  for (const auto& [replica, of] : by_replica) {
    if (of.large >= kMinLargeEntries &&
        static_cast<double>(of.large) > kMinLargeShare * static_cast<double>(of.entries)) {
      found.push_back(replica);
    }
  }
  return found;
}

// Standard deviation over mean of the requests' latency, the time of their first root.
double coefficient_of_variation(const traces::Assembly& assembly, std::span<const uint32_t> traces) {
  double sum = 0;
  double squares = 0;
  for (const uint32_t trace : traces) {
    const auto latency_ns =
        static_cast<double>(assembly.nodes_of(assembly.traces[trace]).front().duration_ns());
    sum += latency_ns;
    squares += latency_ns * latency_ns;
  }
  const auto n = static_cast<double>(traces.size());
  const double mean = sum / n;
  return mean == 0 ? 0 : std::sqrt(std::max(0.0, squares / n - mean * mean)) / mean;
}

Result<std::vector<AnomalousColumn>> columns_of_category(RequestMatrix& requests,
                                                         const CloudDiagOptions& options) {
  const size_t methods = requests.methods.size();
  if (requests.ms.rows() < options.min_requests_per_method * methods) {
    return fail(ErrorCode::kUnsupported, "{} requests are too few for {} methods", requests.ms.rows(),
                methods);
  }
  return anomalous_columns(requests, options);
}

void add_columns(const RequestMatrix& requests, const std::vector<AnomalousColumn>& columns,
                 std::map<Method, AnomalousMethod>& methods) {
  for (const AnomalousColumn& column : columns) {
    const Method method = requests.methods[column.column];
    AnomalousMethod& of =
        methods.try_emplace(method, AnomalousMethod{.method = method, .replicas = {}}).first->second;
    ++of.categories;
    of.cosine = std::min(of.cosine, column.cosine);
    of.mass += column.mass;
    for (const uint32_t replica : column.replicas) {
      if (std::ranges::find(of.replicas, replica) == of.replicas.end()) {
        of.replicas.push_back(replica);
      }
    }
  }
}

}  // namespace

Result<std::vector<AnomalousColumn>> anomalous_columns(RequestMatrix& requests,
                                                       const CloudDiagOptions& options) {
  Matrix matrix = std::exchange(requests.ms, Matrix());
  const size_t rows = matrix.rows();
  const size_t columns = matrix.columns();
  if (options.divides_by_median) {
    divide_by_medians(matrix);
  }
  const auto parts = robust_pca(std::move(matrix));
  if (!parts) {
    return propagate(parts, "decomposing {} requests x {} methods", rows, columns);
  }
  if (!parts->has_converged) {
    return fail(ErrorCode::kUnsupported,
                "the decomposition of {} requests x {} methods did not converge in {} steps", rows, columns,
                parts->iterations);
  }
  std::vector<AnomalousColumn> found;
  for (size_t column = 0; column < columns; ++column) {
    double whole = 0;
    double low_rank = 0;
    double both = 0;
    double mass = 0;
    for (size_t row = 0; row < rows; ++row) {
      const auto l = static_cast<double>(parts->low_rank.at(row, column));
      const auto e = static_cast<double>(parts->sparse.at(row, column));
      whole += (l + e) * (l + e);
      low_rank += l * l;
      both += (l + e) * l;
      mass += std::max(0.0, e);
    }
    const double lengths = std::sqrt(whole * low_rank);
    const double cosine = lengths > 0 ? both / lengths : whole > 0 ? 0 : 1;
    if (cosine < options.max_cosine && is_beyond_scatter(*parts, column, cosine, options.min_scatter_ratio)) {
      found.push_back({column, cosine, mass, anomalous_replicas(requests, *parts, column)});
    }
  }
  return found;
}

Result<CloudDiagResult> clouddiag(const traces::SpanSet& spans, const traces::Assembly& assembly,
                                  std::span<const uint32_t> traces, const CloudDiagOptions& options) {
  std::map<uint64_t, std::vector<uint32_t>> categories;
  for (const uint32_t trace : traces) {
    const traces::Trace& of = assembly.traces[trace];
    categories[options.by_set ? of.set_hash : of.tree_hash].push_back(trace);
  }
  CloudDiagResult result;
  std::map<Method, AnomalousMethod> methods;
  for (const auto& [hash, members] : categories) {
    if (members.size() < options.min_requests) {
      continue;
    }
    ++result.categories;
    if (coefficient_of_variation(assembly, members) <= options.min_cv) {
      continue;
    }
    ++result.anomalous_categories;
    auto requests = request_matrix(spans, assembly, members, options.time_of, options.max_entries);
    const auto columns = requests ? columns_of_category(*requests, options) : propagate(requests);
    if (columns) {
      add_columns(*requests, *columns, methods);
      continue;
    }
    // The other categories are sound.
    const ErrorCode code = columns.error().code;
    if (code != ErrorCode::kTooLarge && code != ErrorCode::kUnsupported) {
      return propagate(columns);
    }
    if (result.skipped_categories++ == 0) {
      result.first_skipped = columns.error().message;
    }
  }
  for (auto& [method, found] : methods) {
    result.methods.push_back(std::move(found));
  }
  const auto rank = [&options](const AnomalousMethod& found) {
    return options.ranks_by_mass ? std::tuple(-found.mass, 0.0)
                                 : std::tuple(-static_cast<double>(found.categories), found.cosine);
  };
  sort_stably(result.methods, rank);
  return result;
}

}  // namespace plimsoll::diagnosis
