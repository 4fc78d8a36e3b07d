// What fleet_bench measures, one function a part.
#pragma once

#include <cstdint>

#include "bench/harness/program.h"

namespace plimsoll::bench {

inline constexpr double kMebibyte = 1 << 20;
// Open files beside the connections of the simulated daemons.
inline constexpr uint64_t kSpareFiles = 256;

// The time of a draw over a million machines in a thousand strata.
Status measure_draws(const Flags& flags, Report& report);

// What a server takes for the heartbeats of 10,000 daemons, of which one in a hundred is drawn and uploads profiles; without and with TLS.
Status measure_heartbeats(const Flags& flags, Report& report);

// The same of daemons that open a connection for each request, without TLS; in full of 100,000 of them, one heartbeat a minute each.
Status measure_short_heartbeats(const Flags& flags, Report& report);

// What users and daemons meet where the work is split: ingest servers in front of a server with its rows in ClickHouse. Beside one server
// without roles, but for --quick. In full of 100,000 daemons, one heartbeat a minute each. Skipped where Debian's ClickHouse is missing.
Status measure_roles(const Flags& flags, Report& report);

// What a server takes in where ten times as many profiles are offered as it can.
Status measure_uploads(const Flags& flags, Report& report);

// How long people wait while others do what they can against the server: slow heads, slow readers, long statements, uploads.
Status measure_siege(const Flags& flags, Report& report);

}  // namespace plimsoll::bench
