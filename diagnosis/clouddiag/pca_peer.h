// The peer that CloudDiag's paper compares itself with: PCA finds anomalous requests, Mann and Whitney's test the methods that differ in
// them. Our reading of a paragraph; built for comparison, not to be relied on.
#pragma once

#include <span>
#include <vector>

#include "diagnosis/observations/request_matrix.h"

namespace plimsoll::diagnosis {

struct PcaOptions {
  double variance = 0.95;        // share of it that the principal components have
  double request_alpha = 0.001;  // of normal requests that count as anomalous
  double method_alpha = 0.01;    // of methods, one-sided
};

struct SuspectMethod {
  size_t column = 0;
  double z = 0;
};

struct PcaResult {
  size_t anomalous_requests = 0;
  std::vector<SuspectMethod> methods;  // the largest z first
};

// Columns are standardized. A request is anomalous where what the components leave of it, squared, exceeds the limit of Jackson and
// Mudholkar, Technometrics 21 (1979). kTooLarge for over 4,096 methods; ends early with the error of check_stop().
Result<PcaResult> pca_mann_whitney(const RequestMatrix& requests, const PcaOptions& options = {});

}  // namespace plimsoll::diagnosis
