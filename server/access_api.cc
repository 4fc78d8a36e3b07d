#include "server/access_api.h"

#include <memory>
#include <utility>

#include "base/time.h"
#include "query/operations/audit.h"
#include "server/orders.h"
#include "store/fleet.h"

namespace plimsoll::server {
namespace {

// The log, with a note of what an order has done.
http::Response answer(Authenticator& authenticator, const store::Fleet& fleet, std::string note) {
  // What was noted within the last minute belongs to it.
  const Status written = authenticator.log().write();
  auto table = written ? query::audit({}, fleet) : propagate(written);
  if (!table) {
    return http::error_response(table.error());
  }
  table->notes.insert(table->notes.begin(), std::move(note));
  http::Response response;
  response.body = query::to_json(*table);
  return response;
}

// An order says in a note what it has done.
Result<std::string> revoke(MachineAccounts& accounts, const std::string& machine) {
  const auto has_been_here = accounts.revoke(machine, wall_now_ns());
  if (!has_been_here) {
    return propagate(has_been_here);
  }
  return *has_been_here ? fmt::format("machine {} is revoked", machine)
                        : fmt::format("machine {} is revoked, but was not enrolled: check the ID", machine);
}

Result<std::string> readmit(MachineAccounts& accounts, const std::string& machine) {
  const Status done = accounts.readmit(machine);
  return done ? Result<std::string>(fmt::format("machine {} may enrol again", machine)) : propagate(done);
}

using MachineOrder = Result<std::string> (*)(MachineAccounts&, const std::string&);

Result<std::string> obey(MachineOrder act, const http::Request& request, Authenticator& authenticator) {
  if (!authenticator.asks()) {
    return with_hint(
        fail(ErrorCode::kUnsupported, "revoking has no effect: this server runs without authentication"),
        "configure [[access.tokens]] or access.machine_ca");
  }
  const auto machine = required_name(request, "machine", "the machine is missing");
  return machine ? act(authenticator.accounts(), *machine) : propagate(machine);
}

// Of orders that concern one machine.
http::Route machine_order(std::string path, Authenticator& authenticator,
                          std::shared_ptr<const store::Fleet> fleet, store::DiskReserve& reserve,
                          MachineOrder act) {
  return order_route(std::move(path), reserve,
                     [&authenticator, fleet = std::move(fleet), act](const http::Request& request) {
                       const auto done = obey(act, request, authenticator);
                       return done ? answer(authenticator, *fleet, *done)
                                   : http::error_response(done.error());
                     });
}

}  // namespace

std::vector<http::Route> access_routes(Authenticator& authenticator, const std::string& data_dir,
                                       store::DiskReserve& reserve) {
  const std::shared_ptr<const store::Fleet> fleet = store::open_fleet(data_dir);
  return {machine_order("/api/v1/machines/revoke", authenticator, fleet, reserve, &revoke),
          machine_order("/api/v1/machines/readmit", authenticator, fleet, reserve, &readmit)};
}

}  // namespace plimsoll::server
