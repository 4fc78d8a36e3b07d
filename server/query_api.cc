#include "server/query_api.h"

#include "base/time.h"
#include "query/views/top.h"

namespace plimsoll::server {
namespace {

Result<query::Table> answer_top(query::SnapshotCache& snapshots, const http::Request& request) {
  const auto top_request = query::parse_top(request.query, wall_now_ns());
  if (!top_request) {
    return propagate(top_request);
  }
  const auto snapshot = snapshots.newest();
  if (!snapshot) {
    return propagate(snapshot);
  }
  return query::top(*top_request, **snapshot);
}

}  // namespace

std::vector<http::Route> query_routes(query::SnapshotCache& snapshots) {
  std::vector<http::Route> routes;
  routes.push_back({"GET", "/api/v1/top", false, 0, [&snapshots](const http::Request& request) {
                      const auto table = answer_top(snapshots, request);
                      if (!table) {
                        return http::error_response(table.error());
                      }
                      http::Response response;
                      response.body = query::to_json(*table);
                      return response;
                    }});
  return routes;
}

}  // namespace plimsoll::server
