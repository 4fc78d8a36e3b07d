// The primary's side: batches of requests that daemons sent to ingest servers.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "http/access_control.h"
#include "http/routes.h"

namespace plimsoll::server {

struct RelayDoorOptions {
  http::AccessControl* access_control =
      nullptr;  // of the listener for daemons; borrowed; null: everything is permitted
  // Whether a name counts that an ingest server has read in a daemon's certificate: where daemons may show certificates here, too.
  bool takes_certificates = false;
  size_t max_upload_bytes = size_t{64} << 20;  // of a profile, or a recording
};

// POST /fleet/v1/relay/machines, .../profiles and .../recordings; Right::kRelay. Each request in a batch is authenticated, handled and noted as if its
// daemon had sent it to one of the `direct` routes here: those of FleetService, and that of recordings. In their order, one after the other;
// several batches at once. kInvalid where the direct routes make no table.
Result<std::vector<http::Route>> relay_routes(std::vector<http::Route> direct,
                                              const RelayDoorOptions& options);

}  // namespace plimsoll::server
