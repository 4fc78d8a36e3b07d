// The audit log, and revoking machines.
#pragma once

#include <string>
#include <vector>

#include "http/routes.h"
#include "server/access/authenticator.h"
#include "store/directory/disk_reserve.h"

namespace plimsoll::server {

// For administrators: GET /api/v1/audit with the parameters of query::parse_audit(); POST /api/v1/machines/revoke?machine=ID,
// /api/v1/machines/readmit?machine=ID, which answer with the newest of the same, and in its first note with what
// they have done: kUnsupported without authentication. Borrows the authenticator and the reserve.
std::vector<http::Route> access_routes(Authenticator& authenticator, const std::string& data_dir,
                                       store::DiskReserve& reserve);

}  // namespace plimsoll::server
