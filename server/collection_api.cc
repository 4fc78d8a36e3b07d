#include "server/collection_api.h"

#include <memory>
#include <utility>

#include "base/time.h"
#include "query/operations/collection.h"
#include "query/operations/draws.h"
#include "server/measuring_order.h"
#include "server/orders.h"
#include "store/fleet.h"

namespace plimsoll::server {
namespace {

http::Response answer(const Status& done, const store::Fleet& fleet) {
  const auto stops = done ? fleet.stops() : propagate(done);
  if (!stops) {
    return http::error_response(stops.error());
  }
  http::Response response;
  response.body = query::to_json(query::collection(*stops));
  return response;
}

Status stop(const http::Request& request, scheduler::CollectionBreaker& breaker) {
  const auto reason = required_parameter(request, "reason", "a reason is required to stop collection");
  if (!reason) {
    return with_hint(propagate(reason), "it is shown to users who look for missing profiles");
  }
  return breaker.stop_everything(*reason, orderer(request), wall_now_ns());
}

Status resume(const http::Request& request, scheduler::CollectionBreaker& breaker) {
  const auto resumed = breaker.resume(orderer(request), wall_now_ns());
  return resumed ? Status() : propagate(resumed);
}

// The ID of the draw.
Result<std::string> measure(const http::Request& request, scheduler::Drawer* drawer, store::Ingest& ingest) {
  if (drawer == nullptr) {
    return with_hint(
        fail(ErrorCode::kUnsupported, "every machine is profiled all the time: draw.interval is 0"),
        "query the profiles: plimsoll top --since 5m --where job=NAME");
  }
  const auto order =
      parse_measuring_order(request.query, drawer->policy().settings().collects, orderer(request));
  if (!order) {
    return propagate(order);
  }
  auto machines = ingest.directory().read_machines();
  return machines ? drawer->draw_by_order(*order, ingest.settled_now_ns(), *machines) : propagate(machines);
}

http::Response answer_with_draw(const Result<std::string>& id, const store::Fleet& fleet) {
  const query::DrawsRequest request{.id = id.value_or(std::string()), .now_ns = wall_now_ns()};
  const auto known = id ? query::KnownDraws::load(request, fleet) : propagate(id);
  if (!known) {
    return http::error_response(known.error());
  }
  query::Table table = query::draws(request, *known);
  table.notes.push_back(
      fmt::format("its profiles are in no other result: select them with --where draw={}", request.id));
  http::Response response;
  response.body = query::to_json(table);
  return response;
}

}  // namespace

std::vector<http::Route> collection_routes(scheduler::CollectionBreaker& breaker, scheduler::Drawer* drawer,
                                           store::Ingest& ingest, store::DiskReserve& reserve) {
  const std::shared_ptr<const store::Fleet> fleet = store::open_fleet(ingest.directory().path());
  return {order_route("/api/v1/collection/stop", reserve,
                      [&breaker, fleet](const http::Request& request) {
                        return answer(stop(request, breaker), *fleet);
                      }),
          order_route("/api/v1/collection/resume", reserve,
                      [&breaker, fleet](const http::Request& request) {
                        return answer(resume(request, breaker), *fleet);
                      }),
          order_route("/api/v1/collection/measure", reserve,
                      [drawer, fleet, &ingest](const http::Request& request) {
                        return answer_with_draw(measure(request, drawer, ingest), *fleet);
                      })};
}

}  // namespace plimsoll::server
