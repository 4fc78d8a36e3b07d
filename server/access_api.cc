#include "server/access_api.h"

#include <utility>

#include "base/time.h"
#include "query/views/audit.h"
#include "server/orders.h"

namespace plimsoll::server {
namespace {

http::Response answer(const Result<query::AuditRequest>& request, Gate& gate, const std::string& data_dir) {
  if (!request) {
    return http::error_response(request.error());
  }
  // What was noted within the last minute belongs to it.
  const Status written = gate.log().write();
  const auto table = written ? query::audit(*request, data_dir) : propagate(written);
  if (!table) {
    return http::error_response(table.error());
  }
  http::Response response;
  response.body = query::to_json(*table);
  return response;
}

// Of orders that concern one machine.
template <typename Do>
http::Route machine_order(std::string path, Gate& gate, const std::string& data_dir, Do act) {
  return order_route(std::move(path), [&gate, data_dir, act](const http::Request& request) {
    const auto machine = required_parameter(request, "machine", "the order does not say which machine");
    const Status done = machine ? act(gate.accounts(), *machine) : propagate(machine);
    return answer(done ? query::parse_audit({}, wall_now_ns()) : propagate(done), gate, data_dir);
  });
}

}  // namespace

std::vector<http::Route> access_routes(Gate& gate, const std::string& data_dir) {
  http::Route audit;
  audit.method = "GET";
  audit.path = "/api/v1/audit";
  audit.right = http::Right::kOrder;
  audit.handle = [&gate, data_dir](const http::Request& request) {
    return answer(query::parse_audit(request.query, wall_now_ns()), gate, data_dir);
  };
  return {std::move(audit),
          machine_order("/api/v1/machines/revoke", gate, data_dir,
                        [](MachineAccounts& accounts, const std::string& machine) {
                          return accounts.revoke(machine, wall_now_ns());
                        }),
          machine_order("/api/v1/machines/readmit", gate, data_dir,
                        [](MachineAccounts& accounts, const std::string& machine) {
                          return accounts.readmit(machine);
                        })};
}

}  // namespace plimsoll::server
