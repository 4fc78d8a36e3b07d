// plimsolld as it runs for good: registers, heartbeats, runs its assignment, sends profiles.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "config/daemon_config.h"
#include "daemon/binaries/binary_upload_thread.h"
#include "daemon/bursts/recording_thread.h"
#include "daemon/collecting_thread.h"
#include "daemon/credentials.h"
#include "daemon/governor.h"
#include "daemon/limits.h"
#include "daemon/machine/census.h"
#include "daemon/scrape/scraping_thread.h"
#include "daemon/service/service_notifier.h"
#include "daemon/spool/retry_timer.h"
#include "daemon/spool/spool.h"
#include "daemon/spool/uploader.h"
#include "http/client.h"
#include "proto/fleet.pb.h"

namespace plimsoll {

// A configuration that has been accepted, and what was made of it.
struct AgentSetup {
  config::DaemonConfig config;
  wire::Machine machine;
  DaemonCredentials credentials;
  std::shared_ptr<const identity::JobRules> rules;
  ExactCountSettings exact_counts;
  std::vector<std::string> missing_events = {};  // known by name, and not to be had here
};

// One thread runs it; collecting and scraping happen in others. Only makes outgoing requests. Whatever fails for now (no server,
// no network) is tried again, with growing pauses and jitter; profiles wait in the spool meanwhile, and survive this process.
class Agent {
 public:
  // Borrows the governor, and the spools of profiles and of recordings of bursts, which outlive an agent: what one has used, the next
  // one has used; what it has not sent, the next one sends. A readable `wake_fd` ends run(), and any request under way.
  Agent(const AgentSetup& setup, Governor& governor, spool::Spool& spool, spool::Spool& recordings,
        ServiceNotifier& notifier, int wake_fd);

  // Until `wake_fd` is readable. Collecting goes on, and run() may be called again.
  void run();
  // Ends the running window and the running recording: both are in their spools then. Nothing is collected afterwards.
  void stop_collecting();
  // Sends what is spooled for as long as the server answers, and for 5 s at most. The rest waits on disk for the next run.
  void flush();

  // What is wrong with the daemon itself, for its heartbeats; empty: nothing.
  void set_problem(std::string problem) { problem_ = std::move(problem); }

 private:
  // Sends a message and parses the reply.
  template <typename Reply, typename Request>
  Result<Reply> call(std::string_view path, const Request& request, const http::Fields& headers = {});

  Status register_machine();
  Status heartbeat();
  void add_census(wire::HeartbeatRequest& request);
  void assign(const wire::HeartbeatReply& reply);
  void end_lease();
  void fill_in_status(wire::DaemonStatus& status);
  void hand_over(wire::RawProfile profile);
  bursts::RecordingContext recording_context(const AgentSetup& setup);
  void learn_time(int64_t server_time_ns, int64_t sent_ns);
  // Each does what is due, or nothing.
  void keep_in_contact();
  void upload();
  // The oldest of a spool, if it is due.
  void upload(const spool::Spool& from, spool::Uploader& uploader);
  // As long as the server answers, until `until_ns`.
  void flush(const spool::Spool& from, spool::Uploader& uploader, int64_t until_ns);
  int64_t next_due_ns() const;
  // True when the agent is to stop running; false when the spool has something new or the time has come.
  bool wait(int64_t until_ns);

  const wire::Machine machine_;
  const LocalLimits limits_;
  Governor& governor_;
  const std::string server_;
  const DaemonCredentials credentials_;
  const std::vector<std::string> missing_events_;
  http::Client client_;
  spool::Spool& spool_;
  spool::Uploader uploader_;
  spool::Spool& recordings_;
  spool::Uploader recording_uploader_;
  ServiceNotifier& notifier_;
  const int wake_fd_;
  std::string problem_;
  spool::RetryTimer contact_retry_;
  identity::ProcFs proc_fs_;
  identity::Census census_;
  int64_t census_due_ns_ = 0;
  bool has_census_ = true;  // as far as we know: control groups may be out of reach
  bool registered_ = false;
  int registrations_ = 0;  // since the newest heartbeat that was taken
  int64_t heartbeat_interval_ns_;
  int64_t contact_due_ns_ = 0;        // registering, or the next heartbeat
  int64_t asked_pause_ns_ = 0;        // by the answer to the last call
  int64_t lease_end_ns_ = INT64_MAX;  // until then what was assigned holds
  std::atomic<int64_t> server_offset_ns_ = 0;
  std::atomic<bool> wants_kernel_symbols_ = true;  // the server, as far as we know
  binaries::BinaryUploadThread binaries_;
  // Last: their threads use the members above.
  CollectingThread collecting_;
  scrape::ScrapingThread scraping_;
  bursts::RecordingThread recording_;
};

}  // namespace plimsoll
