// Many daemons in one thread, which speak to a server as real ones do: they register, send a heartbeat with a census at their time in
// every interval, and upload a profile when they were drawn and the window is over.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bench/fleet/profile_maker.h"

namespace plimsoll::bench {

struct SimulatorOptions {
  uint16_t port = 0;  // the server's, for daemons, on 127.0.0.1
  uint32_t daemons = 0;
  double heartbeat_s = 10;
  bool keeps_connections = true;  // else each request has one of its own
};

struct Simulated {
  std::vector<double> latencies_ms;  // of heartbeats, from when each was due until its answer was there
  uint64_t assigned = 0;             // to one machine each
  uint64_t delivered = 0;            // profiles of these that the server acknowledged
  std::map<std::string, uint64_t> failures;  // what went wrong, and how often
};

class DaemonSimulator {
 public:
  // Borrows what makes profiles, which must outlive it.
  static Result<std::unique_ptr<DaemonSimulator>> create(const SimulatorOptions& options,
                                                         ProfileMaker& profiles);
  DaemonSimulator(const DaemonSimulator&) = delete;
  DaemonSimulator& operator=(const DaemonSimulator&) = delete;
  ~DaemonSimulator();

  // All daemons register, spread over one interval of heartbeats.
  Result<Simulated> register_all();
  // So many intervals of heartbeats; then what is under way is waited for.
  Result<Simulated> run(uint32_t intervals);

 private:
  enum class Task { kRegister, kHeartbeat, kUpload };
  struct Request {
    Task task;
    double due_s;
    MadeProfile profile;  // of an upload
  };
  struct Daemon;

  DaemonSimulator(const SimulatorOptions& options, ProfileMaker& profiles, UniqueFd epoll);
  Result<Simulated> spread(Task task, uint32_t intervals);
  Status wait(double until_s);
  Status send_made();
  Status want(uint32_t number, Request request);
  Status begin_next(uint32_t number);
  Status send(uint32_t number);
  Status advance(uint32_t number);
  Status lost_connection(uint32_t number, const Error& error);
  void take_answer(uint32_t number);
  void take_heartbeat_reply(uint32_t number, std::string_view body);
  std::string body_of(uint32_t number, const Request& request);

  const SimulatorOptions options_;
  ProfileMaker& profiles_;
  const UniqueFd epoll_;
  std::vector<std::unique_ptr<Daemon>> daemons_;
  std::multimap<double, MadeProfile> made_;  // by when they may be sent
  uint64_t unanswered_ = 0;                  // requests
  uint64_t expected_ = 0;                    // profiles that were ordered and are not sent yet
  Simulated simulated_;
};

}  // namespace plimsoll::bench
