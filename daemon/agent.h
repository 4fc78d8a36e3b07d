// plimsolld as it runs for good: registers, heartbeats, runs its assignment, sends profiles.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "config/daemon_config.h"
#include "daemon/collecting_thread.h"
#include "daemon/identity/census.h"
#include "daemon/limits.h"
#include "daemon/scrape/scraping_thread.h"
#include "daemon/spool/retry_timer.h"
#include "daemon/spool/spool.h"
#include "daemon/spool/uploader.h"
#include "daemon/stop_signal.h"
#include "http/client.h"
#include "proto/fleet.pb.h"

namespace plimsoll {

// One thread runs it; collecting and scraping happen in others. Only makes outgoing requests. Whatever fails for now (no server,
// no network) is tried again, with growing pauses and jitter; profiles wait in the spool meanwhile, and survive this process.
class Agent {
 public:
  Agent(const config::DaemonConfig& config, wire::Machine machine, std::unique_ptr<spool::Spool> spool);

  // Until a stop signal comes; then the running window ends, its profile is spooled, and what can be sent within 5 s is.
  // The rest waits on disk for the next run.
  void run(const StopSignal& stop);

 private:
  // Sends a message and parses the reply.
  template <typename Reply, typename Request>
  Result<Reply> call(std::string_view path, const Request& request);

  Status register_machine();
  Status heartbeat();
  void add_census(wire::HeartbeatRequest& request);
  void fill_in_status(wire::DaemonStatus& status) const;
  void hand_over(wire::RawProfile profile);
  void learn_time(int64_t server_time_ns, int64_t sent_ns);
  // Each does what is due, or nothing.
  void keep_in_contact();
  void upload();
  int64_t next_due_ns() const;
  void flush();

  const wire::Machine machine_;
  const LocalLimits limits_;
  const std::string server_;
  http::Client client_;
  const std::unique_ptr<spool::Spool> spool_;
  spool::Uploader uploader_;
  spool::RetryTimer contact_retry_;
  identity::ProcFs proc_fs_;
  identity::Census census_{proc_fs_};
  bool has_census_ = true;  // as far as we know: control groups may be out of reach
  bool registered_ = false;
  int64_t heartbeat_interval_ns_;
  int64_t contact_due_ns_ = 0;  // registering, or the next heartbeat
  int64_t asked_pause_ns_ = 0;  // by the answer to the last call
  std::atomic<int64_t> server_offset_ns_ = 0;
  // Last: their threads use the members above.
  CollectingThread collecting_;
  scrape::ScrapingThread scraping_;
};

}  // namespace plimsoll
