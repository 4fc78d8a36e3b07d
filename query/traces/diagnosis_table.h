// The view "diagnosis": which service, method and replica is slow, or takes another path, in request traces (docs/diagnosis.md).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"
#include "query/traces/stored_requests.h"

namespace plimsoll::query {

struct DiagnosisRequest {
  // kPlimsoll: replicas and services; kCloudDiag: robust PCA of self times; kPaper: as its paper prints it; kPca: the paper's peer; kAll: these
  // one after the other. kCategory and kTree: no findings, but kinds of request (query/traces/category_table.h).
  enum class Method { kPlimsoll, kCloudDiag, kPaper, kPca, kAll, kCategory, kTree };

  RequestTimes window = {};
  RequestTimes reference = {};  // all times: all requests outside of the window
  bool has_since = false;
  bool has_reference = false;
  std::string service = {};  // findings of this service only; empty: all
  Method by = Method::kPlimsoll;
  int64_t every_ns = 0;  // of kCategory and kTree: parts of the window; 0: it as a whole
  int64_t now_ns = 0;
  uint64_t max_matrix_entries = UINT64_MAX;  // requests x methods, of the paper's methods
};

// since, until, reference_since, reference_until, service, by, every
Result<DiagnosisRequest> parse_diagnosis(const Parameters& parameters, int64_t now_ns);

// What a store is read for. Without a reference that is the window and the hour before it; without a start of the window the last hour is all
// of it.
RequestTimes times_to_read(const DiagnosisRequest& request);

// All findings, the highest score first; of several methods those of one after the other, each with ranks of its own. A note says which
// method failed for the size of its matrix, where others did not. kNotFound where no request began in the window, kInvalid for a service
// that is not in the traces.
Result<Table> diagnosis_table(const DiagnosisRequest& request, const TracedRequests& requests);

// Of the spans of a data directory; ends early with the error of check_stop().
Result<Table> diagnose_store(const DiagnosisRequest& request, const std::string& data_dir,
                             uint64_t max_spans);

// Leaves out what is not claimed: users take what is listed for an answer, programs read the confidence.
void keep_claimed(Table& table);

}  // namespace plimsoll::query
