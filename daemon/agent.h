// plimsolld as it runs for good: registers, heartbeats, runs its assignment, sends profiles.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "base/result.h"
#include "config/daemon_config.h"
#include "daemon/collecting_thread.h"
#include "daemon/identity/census.h"
#include "daemon/limits.h"
#include "daemon/scrape/scraping_thread.h"
#include "daemon/stop_signal.h"
#include "daemon/upload_queue.h"
#include "http/client.h"
#include "proto/fleet.pb.h"

namespace plimsoll {

// One thread runs it; collecting and scraping happen in others. Only makes outgoing requests. Whatever fails for now (no server,
// no network) is tried again, with growing pauses and jitter; profiles wait in a bounded queue meanwhile.
class Agent {
 public:
  // `rules` are those of the configuration, compiled.
  Agent(const config::DaemonConfig& config, wire::Machine machine,
        const std::shared_ptr<const identity::JobRules>& rules);

  // Until a stop signal comes; then the running window ends, and what is queued is sent if the server answers.
  Status run(const StopSignal& stop);

 private:
  // Sends a message and parses the reply.
  template <typename Reply, typename Request>
  Result<Reply> call(std::string_view path, const Request& request);

  Status register_machine();
  Status heartbeat();
  void add_census(wire::HeartbeatRequest& request);
  // Sends the oldest queued profile. A profile that the server refuses for good is dropped and counted.
  Status upload_oldest();
  void hand_over(wire::RawProfile profile);
  void learn_time(int64_t server_time_ns, int64_t sent_ns);
  int64_t backoff_ns();

  const wire::Machine machine_;
  const LocalLimits limits_;
  http::Client client_;
  UploadQueue queue_;
  std::mt19937_64 random_;
  identity::ProcFs proc_fs_;
  identity::Census census_;
  bool has_census_ = true;  // as far as we know: control groups may be out of reach
  bool registered_ = false;
  int64_t heartbeat_interval_ns_;
  int failures_ = 0;  // in a row
  uint64_t refused_ = 0;
  std::atomic<int64_t> server_offset_ns_ = 0;
  // Last: their threads use the members above.
  CollectingThread collecting_;
  scrape::ScrapingThread scraping_;
};

}  // namespace plimsoll
