#include "server/query_api.h"

#include <type_traits>

#include "base/time.h"
#include "query/export/export.h"
#include "query/placement/measured/measured_pairs.h"
#include "query/sql/sql.h"
#include "query/views/callers.h"
#include "query/views/compare.h"
#include "query/views/coverage.h"
#include "query/views/diff.h"
#include "query/views/draws.h"
#include "query/views/flame.h"
#include "query/views/jobs.h"
#include "query/views/machines.h"
#include "query/views/series.h"
#include "query/views/shared.h"
#include "query/views/stability.h"
#include "query/views/top.h"
#include "query/wsmeter/observations.h"
#include "scheduler/assignments/draw_method.h"

namespace plimsoll::server {
namespace {

// What a route is asked for: `parse` takes the query, or the whole request.
template <typename Parse>
auto parsed_by(Parse parse, const http::Request& request) {
  if constexpr (std::is_invocable_v<Parse, const http::Request&>) {
    return parse(request);
  } else {
    return parse(request.query, wall_now_ns());
  }
}

Result<query::SqlRequest> parse_sql(const http::Request& request) {
  auto parsed = query::parse_sql(request.query, wall_now_ns());
  if (parsed) {
    parsed->limits.is_abandoned = request.client_has_gone;
  }
  return parsed;
}

// A view is asked about the newest snapshot, or, where it is not about profiles, takes the request alone.
template <typename View, typename Request>
Result<std::string> ask(View view, const Request& request, query::SnapshotCache& snapshots) {
  if constexpr (std::is_invocable_v<View, const Request&>) {
    return view(request);
  } else {
    const auto snapshot = snapshots.newest();
    return snapshot ? view(request, **snapshot) : Result<std::string>(propagate(snapshot));
  }
}

// A view over HTTP: parses the query, asks, sends what the view has written down.
template <typename Parse, typename View>
http::Route view_route(std::string path, const std::string& content_type, query::SnapshotCache& snapshots,
                       Parse parse, View view) {
  const auto answer = [&snapshots, parse, view](const http::Request& request) -> Result<std::string> {
    const auto parsed = parsed_by(parse, request);
    return parsed ? ask(view, *parsed, snapshots) : Result<std::string>(propagate(parsed));
  };
  http::Route route;
  route.method = "GET";
  route.path = std::move(path);
  route.right = http::Right::kRead;
  route.threads = http::Threads::kLong;  // health, orders and the kill switch are answered meanwhile
  route.handle = [answer, content_type](const http::Request& request) {
    auto body = answer(request);
    if (!body) {
      return http::error_response(body.error());
    }
    http::Response response;
    response.content_type = content_type;
    response.body = std::move(*body);
    return response;
  };
  return route;
}

}  // namespace

std::vector<http::Route> query_routes(query::SnapshotCache& snapshots) {
  std::vector<http::Route> routes;
  const auto as_json = [](auto view) {
    return [view](const auto& request, const query::Snapshot& snapshot) {
      const auto answered = view(request, snapshot);
      return answered ? query::to_json(*answered) : Result<std::string>(propagate(answered));
    };
  };
  const std::string json = "application/json";
  const std::string bytes = "application/octet-stream";
  routes.push_back(view_route("/api/v1/top", json, snapshots, query::parse_top, as_json(query::top)));
  routes.push_back(
      view_route("/api/v1/callers", json, snapshots, query::parse_callers, as_json(query::callers)));
  routes.push_back(
      view_route("/api/v1/callees", json, snapshots, query::parse_callees, as_json(query::callers)));
  routes.push_back(view_route("/api/v1/diff", json, snapshots, query::parse_diff, as_json(query::diff)));
  routes.push_back(
      view_route("/api/v1/series", json, snapshots, query::parse_series, as_json(query::series)));
  routes.push_back(
      view_route("/api/v1/shared", json, snapshots, query::parse_shared, as_json(query::shared)));
  routes.push_back(
      view_route("/api/v1/stability", json, snapshots, query::parse_stability, as_json(query::stability)));
  routes.push_back(view_route("/api/v1/flame", json, snapshots, query::parse_flame, as_json(query::flame)));
  routes.push_back(
      view_route("/api/v1/export/pprof", bytes, snapshots, query::parse_export, query::export_pprof));
  routes.push_back(view_route("/api/v1/export/gperftools", bytes, snapshots, query::parse_export,
                              query::export_gperftools));
  // Of views that ask what heartbeats have told as well.
  const auto with_fleet = [&snapshots](auto view) {
    return [&snapshots, view](const auto& request, const query::Snapshot& snapshot) -> Result<query::Table> {
      const auto fleet = query::LiveFleet::load(request, snapshots.data_dir());
      return fleet ? view(request, snapshot, *fleet) : Result<query::Table>(propagate(fleet));
    };
  };
  routes.push_back(view_route("/api/v1/compare", json, snapshots, query::parse_compare,
                              as_json(with_fleet(query::compare))));
  routes.push_back(view_route("/api/v1/coverage", json, snapshots, query::parse_coverage,
                              as_json(with_fleet(query::coverage))));
  routes.push_back(view_route("/api/v1/machines", json, snapshots, query::parse_machines,
                              as_json(with_fleet(query::machines))));
  routes.push_back(view_route("/api/v1/observations", json, snapshots, query::parse_observations,
                              as_json(with_fleet(query::observations))));
  routes.push_back(view_route("/api/v1/measured-pairs", json, snapshots, query::parse_measured_pairs,
                              as_json(with_fleet(query::measured_pairs))));
  const auto jobs = [&snapshots](const query::JobsRequest& request) -> Result<std::string> {
    const auto fleet = query::LiveFleet::load(request, snapshots.data_dir());
    return fleet ? query::to_json(query::jobs(request, *fleet)) : Result<std::string>(propagate(fleet));
  };
  routes.push_back(view_route("/api/v1/jobs", json, snapshots, query::parse_jobs, jobs));
  const auto draws = [&snapshots](const query::DrawsRequest& request) -> Result<std::string> {
    const auto known = query::KnownDraws::load(request, snapshots.data_dir(), scheduler::draw_again);
    return known ? query::to_json(query::draws(request, *known)) : Result<std::string>(propagate(known));
  };
  routes.push_back(view_route("/api/v1/draws", json, snapshots, query::parse_draws, draws));
  const auto sql = [&snapshots](const query::SqlRequest& request, const query::Snapshot& snapshot) {
    return query::sql(request, snapshot, [&] { return query::LiveFleet::load(snapshots.data_dir()); });
  };
  routes.push_back(view_route("/api/v1/sql", json, snapshots, parse_sql, as_json(sql)));
  routes.back().threads = http::Threads::kBackground;
  return routes;
}

}  // namespace plimsoll::server
