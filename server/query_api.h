// The read API: the views of the registry (query/registry) over HTTP.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/routes.h"
#include "query/operations/running_server.h"
#include "query/snapshot/snapshot.h"
#include "sqlite/question/question.h"
#include "store/retention/retention_limits.h"

namespace plimsoll::server {

// What views need of the server. Any thread may call.
struct QueryHooks {
  std::function<Status()> write_audit_log;  // brings the log to its file before it is shown
  std::function<query::RunningServer()> running_server;
  // The limits of its data directory; empty: those of ViewSources.
  std::function<Result<store::RetentionLimits>()> retention_limits = {};
  // How long the answer of a view took, or its refusal.
  std::function<void(std::string_view view, int64_t duration_ns)> answered;
  // False: of rows and the fleet alone, without routes of views that read more (View::reads_directory).
  bool has_directory = true;
  // What answers say besides, in a note; empty: nothing.
  std::function<std::optional<std::string>()> note = {};
};

struct QueryLimits {
  std::chrono::milliseconds max_time{0};  // of all but SQL statements; 0: there is none
  sqlite::QuestionLimits sql = {};        // without is_abandoned
  // That SQL statements may have together, with their answers. Each has what its limits permit set aside for it; what does not fit waits,
  // and one that is larger than all of this has it alone.
  uint64_t sql_memory_bytes = UINT64_MAX;
  // That questions about request traces may have together. Each has half of it set aside, or what the view needs at most if that is less,
  // and is refused where its spans do not fit.
  uint64_t trace_memory_bytes = UINT64_MAX;
};

// GET /api/v1/NAME for each view that answers, with its parameters in the URL's query; and /api/v1/openapi.json and
// /api/v1/registry, which describe them to programs and to the web page. An answer that takes too long, or that nobody waits for any more, is given up (Route::is_question). Borrows the cache.
std::vector<http::Route> query_routes(query::SnapshotCache& snapshots, const QueryHooks& hooks,
                                      const QueryLimits& limits = {});

}  // namespace plimsoll::server
