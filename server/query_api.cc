#include "server/query_api.h"

#include "base/time.h"
#include "query/views/flame.h"
#include "query/views/top.h"

namespace plimsoll::server {
namespace {

// A view over HTTP: parses the query, asks the newest snapshot, writes the answer down.
template <typename Parse, typename View>
http::Route view_route(std::string path, query::SnapshotCache& snapshots, Parse parse, View view) {
  const auto answer = [&snapshots, parse, view](const http::Request& request) -> Result<std::string> {
    const auto parsed = parse(request.query, wall_now_ns());
    if (!parsed) {
      return propagate(parsed);
    }
    const auto snapshot = snapshots.newest();
    if (!snapshot) {
      return propagate(snapshot);
    }
    const auto answered = view(*parsed, **snapshot);
    return answered ? query::to_json(*answered) : Result<std::string>(propagate(answered));
  };
  return {"GET", std::move(path), false, 0, [answer](const http::Request& request) {
            auto body = answer(request);
            if (!body) {
              return http::error_response(body.error());
            }
            http::Response response;
            response.body = std::move(*body);
            return response;
          }};
}

}  // namespace

std::vector<http::Route> query_routes(query::SnapshotCache& snapshots) {
  std::vector<http::Route> routes;
  routes.push_back(view_route("/api/v1/top", snapshots, query::parse_top, query::top));
  routes.push_back(view_route("/api/v1/flame", snapshots, query::parse_flame, query::flame));
  return routes;
}

}  // namespace plimsoll::server
