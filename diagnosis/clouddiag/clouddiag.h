// CloudDiag: which methods, on which replicas, are anomalous. Mi, Wang, Zhou, Lyu, Cai, "Toward Fine-Grained, Unsupervised, Scalable
// Performance Diagnosis for Production Cloud Computing Systems", IEEE TPDS 24 (2013).
//
// Requests are put into categories by call tree. In a category whose latencies scatter too much the matrix of requests x methods is
// decomposed into L (low rank, what is usual) and E (sparse, the anomalies). A method is anomalous where its column of the matrix points
// elsewhere than its column of L.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "diagnosis/observations/request_matrix.h"

namespace plimsoll::diagnosis {

struct CloudDiagOptions {
  // As printed in the paper.
  TimeOf time_of = TimeOf::kInclusive;
  double min_cv = 1;         // coefficient of variation of a category's latency from which on it is anomalous
  double max_cosine = 0.5;   // beta: of a method's column with its column of L, below which it is anomalous
  size_t min_requests = 20;  // of a category
  // What finds more (docs/diagnosis.md).
  // For each method of a category: of fewer requests L has the noise too, and its columns point anywhere.
  size_t min_requests_per_method = 0;
  // The energy of a column's error, to what it would be if all of its times scattered as the middle half of them does: a method whose
  // times scatter by a third of their mean has a cosine of 0.95 without a fault.
  double min_scatter_ratio = 0;
  bool divides_by_median = false;            // columns count alike
  bool by_set = false;                       // categories by the set of methods instead of the call tree
  bool ranks_by_mass = false;                // by the sum of E instead of by categories
  uint64_t max_entries = kMaxMatrixEntries;  // of the matrix of a category; larger ones are skipped

  static CloudDiagOptions improved() {
    return {.time_of = TimeOf::kSelf,
            .min_cv = 0,
            .max_cosine = 0.95,
            .min_requests_per_method = 3,
            .min_scatter_ratio = 1.6,
            .divides_by_median = true,
            .by_set = true,
            .ranks_by_mass = true};
  }
};

struct AnomalousMethod {
  Method method;
  size_t categories = 0;           // in which it is anomalous
  double cosine = 1;               // the smallest
  double mass = 0;                 // sum of what E has above 0, in the unit of the matrix
  std::vector<uint32_t> replicas;  // on which E is large; empty: on none in particular, or unknown
};

struct CloudDiagResult {
  std::vector<AnomalousMethod> methods;  // most suspicious first
  size_t categories = 0;                 // with enough requests
  size_t anomalous_categories = 0;       // by their coefficient of variation
  size_t skipped_categories = 0;  // of these; too small or large, or their decomposition did not converge
  std::string first_skipped;      // why the first of them was
};

// Of these traces. Memory: two matrices of the largest category, and its replicas.
Result<CloudDiagResult> clouddiag(const traces::SpanSet& spans, const traces::Assembly& assembly,
                                  std::span<const uint32_t> traces, const CloudDiagOptions& options = {});

// The part of it that works on one matrix: methods by column.
struct AnomalousColumn {
  size_t column = 0;
  double cosine = 1;
  double mass = 0;
  std::vector<uint32_t> replicas;
};
// Takes the times out of `requests`, whose memory is one of the two matrices of the decomposition. kTooLarge for over kMaxRpcaColumns
// methods, kUnsupported where the decomposition does not converge.
Result<std::vector<AnomalousColumn>> anomalous_columns(RequestMatrix& requests,
                                                       const CloudDiagOptions& options);

}  // namespace plimsoll::diagnosis
