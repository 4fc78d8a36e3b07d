// The endpoints that daemons call: register, heartbeat, upload. docs/wire.md describes them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "http/routes.h"
#include "proto/fleet.pb.h"
#include "proto/profile_codec.h"
#include "scheduler/assignments/drawer.h"
#include "scheduler/daemon_statuses.h"
#include "store/ingest.h"

namespace plimsoll::scheduler {

struct FleetOptions {
  int64_t heartbeat_interval_ns = 0;
  // What every machine collects where no machines are drawn.
  wire::Assignment continuous;
  wire::ProfileLimits limits;
  std::function<int64_t()> now_ns = wall_now_ns;  // the clock of the server
  // Authorizes the registration of a machine, and enrols it. Absent: no authentication.
  std::function<Status(const http::Caller& caller, const std::string& machine_id)> enrol = {};
  int64_t machine_ttl_ns = 24 * kNsPerHour;  // retention of what offline machines reported last
};

// Uploads since the start, by how they ended.
struct ReceivedProfiles {
  int64_t accepted = 0;
  int64_t duplicate = 0;  // accepted before
  int64_t refused = 0;    // for good
  int64_t failed = 0;     // by this server's trouble: daemons send them again
  // Of those accepted, over all their events.
  int64_t samples = 0;
  int64_t lost_samples = 0;  // taken, and not handed over by the kernel
};

// What daemons take where machines are drawn.
struct DrawOverhead {
  std::optional<double> cpus_of_daemon = {};  // each, on average over the last hour; nothing: not known yet
  double max_share = 0;                       // of the fleet's CPU time; 0: machines are not drawn
};

// Any thread may call. Borrows the ingest, the breaker and the drawer, which must outlive it.
class FleetService {
 public:
  // Without a drawer (null) every machine collects continuously. `accepted` is called after each profile that is new and safe.
  FleetService(store::Ingest& ingest, FleetOptions options, const CollectionBreaker& breaker, Drawer* drawer,
               std::function<void()> accepted);

  std::vector<http::Route> routes();

  // What a machine sends must be about itself: all refuse with kDenied what is about another than the caller.
  Result<wire::RegisterReply> register_machine(const wire::RegisterRequest& request,
                                               const http::Caller& caller);
  Result<wire::HeartbeatReply> heartbeat(const wire::HeartbeatRequest& request, const http::Caller& caller);
  // `profile_id` in hexadecimal. Acknowledged only when the profile is on disk; the same upload again is acknowledged
  // again. What says that it is of a draw must say of it what this server has drawn.
  Result<wire::UploadReply> upload(std::string_view profile_id, Bytes encoded, const http::Caller& caller);

  // For monitoring.
  ReceivedProfiles received() const;
  DrawOverhead overhead() const;
  DaemonTotals daemons() { return daemons_.totals(options_.now_ns()); }

 private:
  Result<wire::UploadReply> take_profile(std::string_view profile_id, Bytes encoded,
                                         const http::Caller& caller);
  // What cannot be is counted for its machine.
  Status check_claims(const wire::RawProfile& profile);
  Status assign(const wire::HeartbeatRequest& request, int64_t now_ns, wire::HeartbeatReply& reply);

  store::Ingest& ingest_;
  const FleetOptions options_;
  const CollectionBreaker& breaker_;
  Drawer* const drawer_;  // null: nothing is drawn
  const std::function<void()> accepted_;
  DaemonStatuses daemons_;
  struct {
    std::atomic<int64_t> accepted, duplicate, refused, failed, samples, lost_samples;
  } received_{};
};

}  // namespace plimsoll::scheduler
