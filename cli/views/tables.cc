#include <algorithm>
#include <type_traits>

#include "base/time.h"
#include "cli/views/commands.h"
#include "cli/views/terminal.h"
#include "query/placement/measured/measured_pairs.h"
#include "query/views/audit.h"
#include "query/views/callers.h"
#include "query/views/collection.h"
#include "query/views/compare.h"
#include "query/views/coverage.h"
#include "query/views/diff.h"
#include "query/views/draws.h"
#include "query/views/jobs.h"
#include "query/views/machines.h"
#include "query/views/series.h"
#include "query/views/shared.h"
#include "query/views/stability.h"
#include "query/views/top.h"
#include "query/wsmeter/observations.h"
#include "scheduler/assignments/draw_method.h"

namespace plimsoll::cli {
namespace {

// `view` takes the request, and a snapshot where it is about profiles.
template <typename Parse, typename View>
Result<query::Table> ask_directory(const TableOptions& options, Parse parse, View view) {
  const auto request = parse(options.parameters, wall_now_ns());
  if (!request) {
    return propagate(request);
  }
  if constexpr (std::is_invocable_v<View, decltype(*request)>) {
    return view(*request);
  } else {
    const auto snapshot = query::Snapshot::load(options.source.data_dir);
    return snapshot ? view(*request, **snapshot) : Result<query::Table>(propagate(snapshot));
  }
}

// `path`: of the server's API.
template <typename Parse, typename View>
Result<query::Table> ask(const TableOptions& options, const char* path, Parse parse, View view) {
  if (options.source.server.empty()) {
    return ask_directory(options, parse, view);
  }
  const auto body = ask_server(options.source, path, options.parameters);
  return body ? query::from_json(*body) : propagate(body);
}

template <typename Parse, typename View>
Status run(const TableOptions& options, const char* path, Parse parse, View view) {
  return print(ask(options, path, parse, view), options.form);
}

// Of a view that asks what heartbeats have told as well.
template <typename View>
auto with_fleet(const TableOptions& options, View view) {
  return [&options, view](const auto& request, const query::Snapshot& snapshot) -> Result<query::Table> {
    const auto fleet = query::LiveFleet::load(request, options.source.data_dir);
    return fleet ? view(request, snapshot, *fleet) : Result<query::Table>(propagate(fleet));
  };
}

// What the server says of it is a table.
Status give_order(const TableOptions& options, const std::string& path, const query::Parameters& parameters) {
  const auto body = order_server(options.source, path, parameters);
  return print(body ? query::from_json(*body) : propagate(body), options.form);
}

}  // namespace

Status run_top(const TableOptions& options) {
  return run(options, "/api/v1/top", query::parse_top, query::top);
}

Status run_callers(const TableOptions& options) {
  return run(options, "/api/v1/callers", query::parse_callers, query::callers);
}

Status run_callees(const TableOptions& options) {
  return run(options, "/api/v1/callees", query::parse_callees, query::callers);
}

Status run_diff(const TableOptions& options) {
  return run(options, "/api/v1/diff", query::parse_diff, query::diff);
}

Status run_series(const TableOptions& options) {
  return run(options, "/api/v1/series", query::parse_series, query::series);
}

Status run_stability(const TableOptions& options) {
  return run(options, "/api/v1/stability", query::parse_stability, query::stability);
}

Status run_shared(const TableOptions& options) {
  return run(options, "/api/v1/shared", query::parse_shared, query::shared);
}

Status run_compare(const TableOptions& options) {
  return run(options, "/api/v1/compare", query::parse_compare, with_fleet(options, query::compare));
}

Status run_coverage(const TableOptions& options) {
  return run(options, "/api/v1/coverage", query::parse_coverage, with_fleet(options, query::coverage));
}

Status run_machines(const TableOptions& options) {
  const auto order = std::ranges::find_if(options.parameters, [](const auto& parameter) {
    return parameter.first == "revoke" || parameter.first == "readmit";
  });
  if (order != options.parameters.end()) {
    return give_order(options, "/api/v1/machines/" + order->first, {{"machine", order->second}});
  }
  return run(options, "/api/v1/machines", query::parse_machines, with_fleet(options, query::machines));
}

Status run_measure(const TableOptions& options) {
  return give_order(options, "/api/v1/collection/measure", options.parameters);
}

Status run_audit(const TableOptions& options) {
  return run(options, "/api/v1/audit", query::parse_audit, [&options](const query::AuditRequest& request) {
    return query::audit(request, options.source.data_dir);
  });
}

Result<query::Table> ask_jobs(const TableOptions& options) {
  return ask(options, "/api/v1/jobs", query::parse_jobs,
             [&options](const query::JobsRequest& request) -> Result<query::Table> {
               const auto fleet = query::LiveFleet::load(request, options.source.data_dir);
               return fleet ? query::jobs(request, *fleet) : Result<query::Table>(propagate(fleet));
             });
}

Status run_jobs(const TableOptions& options) {
  return print(ask_jobs(options), options.form);
}

Result<query::Table> ask_observations(const TableOptions& options) {
  return ask(options, "/api/v1/observations", query::parse_observations,
             with_fleet(options, query::observations));
}

Result<query::Table> ask_measured_pairs(const TableOptions& options) {
  return ask(options, "/api/v1/measured-pairs", query::parse_measured_pairs,
             with_fleet(options, query::measured_pairs));
}

Status run_observations(const TableOptions& options) {
  return print(ask_observations(options), options.form);
}

Status run_draws(const TableOptions& options) {
  return run(options, "/api/v1/draws", query::parse_draws,
             [&options](const query::DrawsRequest& request) -> Result<query::Table> {
               const auto known =
                   query::KnownDraws::load(request, options.source.data_dir, scheduler::draw_again);
               return known ? query::draws(request, *known) : Result<query::Table>(propagate(known));
             });
}

Status run_collection(const TableOptions& options) {
  const auto show = [&options](const query::CollectionRequest&) -> Result<query::Table> {
    const auto stops = query::load_stops(options.source.data_dir);
    return stops ? query::collection(*stops) : Result<query::Table>(propagate(stops));
  };
  if (options.parameters.empty()) {
    return run(options, "/api/v1/collection", query::parse_collection, show);
  }
  const auto& [order, reason] = options.parameters.back();
  return give_order(options, "/api/v1/collection/" + order, {{"reason", reason}});
}

}  // namespace plimsoll::cli
