// Symbolizer workers over HTTP: they lease builds, fetch their files, and bring symbol tables (proto/symbolizer.proto, docs/symbolizing.md).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "http/routes.h"
#include "symbolizer/lease/table_exchange.h"

namespace plimsoll::server {

struct SymbolizerDoorOptions {
  // Whether the disk has room for so many bytes: asked for what a table declares, and again with each MiB of it. None: there is always room.
  std::function<Status(uint64_t bytes)> check_room = {};
  // Called with the first request for leases of a worker while there was none: what is pending is to be offered. None: no caller waits for it.
  std::function<void()> asked = {};
  // Tables that arrive at once, all together; beyond it 503.
  size_t max_arriving = 32;
};

// All with Right::kSymbolize, and only about builds that the worker has leased. Borrows the exchange.
// POST /api/v1/symbolizer/{lease,renew,failed}: messages of proto/symbolizer.proto.
// GET /api/v1/symbolizer/files/HEX/{executable,debuginfo}?worker=&lease=&offset=: the file from that byte on. 404 where the repository has it no more.
// PUT /api/v1/symbolizer/tables/HEX?worker=&lease=: the table, which goes to disk while it arrives. LeaseOutcome; 400 for a table that is damaged, of
// another build, or not of full DWARF.
// 409 where the worker does not have that lease, or its work is not needed.
std::vector<http::Route> symbolizer_routes(symbolizer::TableExchange& exchange,
                                           const SymbolizerDoorOptions& options);

}  // namespace plimsoll::server
