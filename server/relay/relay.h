// The endpoints for daemons at an ingest server: takes what daemons send, and forwards it to the primary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "http/routes.h"
#include "server/relay/primary_watch.h"
#include "server/relay/relay_lane.h"

namespace plimsoll::server {

struct RelaySettings {
  // A connection to the primary, for one thread.
  std::function<PostBatch()> connect;
  // A quarter, one at least, is for registrations and heartbeats, the others are for profiles; recordings have one more.
  unsigned connections = 4;
  // Of profiles that wait or are on their way; a quarter of it for each of the other kinds.
  size_t max_waiting_bytes = size_t{256} << 20;
  uint64_t max_upload_bytes = uint64_t{64} << 20;  // of a profile, or a recording
};

// Holds nothing that has been acknowledged: a daemon gets its answer once the primary has given it. Runs from its construction until stop(). Any
// thread may call.
class Relay {
 public:
  explicit Relay(const RelaySettings& settings);
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // The same paths, methods and limits as at the primary. What needs no state is checked here: that messages are messages, of a version that is
  // known, and that profiles are framed and have the right checksum. All else is up to the primary, credentials included. Borrows the relay.
  std::vector<http::Route> routes();

  RelayStatus status() const;

  // As RelayLane::stop().
  void stop();

 private:
  const uint64_t max_upload_bytes_;
  PrimaryWatch watch_;
  RelayLane machines_;
  RelayLane profiles_;
  RelayLane recordings_;
};

}  // namespace plimsoll::server
