// What is kept of an hour of request traces once its spans are gone: statistics of its kinds of request, and findings.
#pragma once

#include <cstdint>

#include "query/traces/stored_requests.h"
#include "store/spans/finding_store.h"

namespace plimsoll::query {

// The requests that began within an hour of `begin_ns`, compared with all others that were read. Only what is claimed is kept. The note says
// what was damaged. Ends early with the error of check_stop().
Result<store::DiagnosedHour> diagnose_hour(int64_t begin_ns, const TracedRequests& requests);

}  // namespace plimsoll::query
