// Many daemons in one thread, which speak to a server, or to ingest servers in turn, as real ones do: they register, send a heartbeat
// with a census at their time in every interval, and upload a profile when they were drawn and the window is over.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/fleet/connections.h"
#include "bench/fleet/profile_maker.h"
#include "proto/fleet.pb.h"

namespace plimsoll::bench {

struct SimulatorOptions {
  // For daemons, on 127.0.0.1. Each daemon opens its connections to them in turn.
  std::vector<uint16_t> ports = {};
  uint32_t daemons = 0;
  double heartbeat_s = 10;
  bool keeps_connections = true;          // else each request has one of its own
  const SecuredFleet* secured = nullptr;  // borrowed; null: neither TLS nor tokens
};

// A profile that a server acknowledged.
struct DeliveredProfile {
  uint32_t machine = 0;
  std::string id;             // in hexadecimal
  std::string draw;           // in which a machine has one profile
  double acknowledged_s = 0;  // bench/store/clock.h
};

struct Simulated {
  std::vector<double> latencies_ms;  // of heartbeats, from when each was due until its answer was there
  uint64_t assigned = 0;  // to one machine each, with a window that is over soon after the last heartbeat
  std::vector<DeliveredProfile> delivered;   // of these
  uint64_t turned_away = 0;                  // uploads that were to come back later, and did
  std::map<std::string, uint64_t> failures;  // what went wrong, and how often
};

class DaemonSimulator {
 public:
  // Borrows what makes profiles, which must outlive it.
  static Result<std::unique_ptr<DaemonSimulator>> create(const SimulatorOptions& options,
                                                         ProfileMaker& profiles);
  DaemonSimulator(const DaemonSimulator&) = delete;
  DaemonSimulator& operator=(const DaemonSimulator&) = delete;
  ~DaemonSimulator() = default;

  // All daemons register, spread over one interval of heartbeats.
  Result<Simulated> register_all() { return spread(Task::kRegister, 1); }
  // So many intervals of heartbeats; then what is under way is waited for.
  Result<Simulated> run(uint32_t intervals) { return spread(Task::kHeartbeat, intervals); }

 private:
  enum class Task { kRegister, kHeartbeat, kUpload };
  struct Request {
    Task task;
    double due_s;
    MadeProfile profile;  // of an upload
  };
  struct Daemon {
    std::deque<Request> requests;  // the first of them is under way
    std::string message;           // which it sends
    std::map<std::string, wire::Assignment> assignments;
  };

  DaemonSimulator(const SimulatorOptions& options, ProfileMaker& profiles)
      : options_(options), profiles_(profiles), daemons_(options.daemons) {}
  Result<Simulated> spread(Task task, uint32_t intervals);
  Status wait(double until_s);
  Status want(uint32_t number, Request request);
  Status begin(uint32_t number);
  Status end(uint32_t number);
  std::string heartbeat_of(uint32_t number) const;
  Status take_answer(uint32_t number, const Answer& answer);
  void take_heartbeat_reply(uint32_t number, const std::string& body);
  bool is_busy() const { return connections_->asking() + ordered_ > 0; }

  const SimulatorOptions options_;
  ProfileMaker& profiles_;
  std::unique_ptr<Connections> connections_;
  std::vector<Daemon> daemons_;
  std::multimap<double, MadeProfile> made_;  // by when they may be sent
  uint64_t ordered_ = 0;                     // profiles that are not sent yet
  double last_window_end_s_ = 0;             // who measures longer is not waited for, nor counted
  Simulated simulated_;
};

}  // namespace plimsoll::bench
