// The endpoints that daemons call: register, heartbeat, upload. docs/wire.md describes them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "http/routes.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"
#include "store/ingest.h"

namespace plimsoll::scheduler {

struct FleetOptions {
  int64_t heartbeat_interval_ns = 0;
  // What every machine collects. Draws of random machines will stand in its place.
  wire::Assignment assignment;
  wire::ProfileLimits limits;
};

// Any thread may call. Borrows the ingest, which must outlive it.
class FleetService {
 public:
  // `accepted` is called after each profile that is new and safe.
  FleetService(store::Ingest& ingest, FleetOptions options, std::function<void()> accepted);

  std::vector<http::Route> routes();

  Result<wire::RegisterReply> register_machine(const wire::RegisterRequest& request);
  Result<wire::HeartbeatReply> heartbeat(const wire::HeartbeatRequest& request);
  // `profile_id` in hexadecimal. Acknowledged only when the profile is on disk; the same upload again is acknowledged
  // again.
  Result<wire::UploadReply> upload(std::string_view profile_id, Bytes encoded);

 private:
  store::Ingest& ingest_;
  const FleetOptions options_;
  const std::function<void()> accepted_;
};

}  // namespace plimsoll::scheduler
