// `status`: the health of a server and its fleet on one screen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/operations/draws.h"
#include "query/operations/running_server.h"
#include "query/selection/parameters.h"
#include "query/table/table.h"
#include "store/draws/stop.h"
#include "store/fleet.h"
#include "store/live/live_machine.h"
#include "store/store_health.h"

namespace plimsoll::query {

enum class StatusRows { kSubject, kWork, kQuestion, kOverhead, kSymbolizer };

struct StatusRequest {
  int64_t now_ns = 0;  // wall clock
  StatusRows rows = StatusRows::kSubject;
};

// Parameters: by (subject, work, question, overhead or symbolizer).
Result<StatusRequest> parse_status(const Parameters& parameters, int64_t now_ns);

struct StatusFacts {
  std::optional<RunningServer> server = {};  // nothing: a data directory was asked
  std::optional<store::StoreHealth> store = {};
  std::string store_error = {};  // why there is no `store`, or what else could not be measured
  std::vector<store::LiveMachine> machines = {};
  std::vector<store::Stop> stops = {};
  std::vector<store::DrawWithMachines> draws = {};  // the newest first; some twenty at most

  // Opens draws.db and live.db beside their writer. Without a server it measures the data directory too: about a second for each million
  // addresses.
  static Result<StatusFacts> load(const std::string& data_dir, const store::Fleet& fleet,
                                  std::optional<RunningServer> server);
};

inline constexpr std::string_view kStatusColumn = "state";
inline constexpr std::string_view kFailedState = "failed";

// By subject: subject, state (ok, warning, failed), value, detail (why, or what to do).
// Else as query/operations/status_parts.h has it.
Table status(const StatusRequest& request, const StatusFacts& facts);

}  // namespace plimsoll::query
