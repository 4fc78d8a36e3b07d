// Machines that are made up, and talk to a server as daemons do.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "proto/fleet.pb.h"
#include "tests/simulation/measuring_watch.h"
#include "tests/simulation/simulated_server.h"

namespace plimsoll::simulation {

using Random = std::mt19937_64;

struct SimulatedMachine {
  wire::Machine attributes;
  std::map<std::string, int> instances;  // by job
  std::string rack = {};                 // of its datacenter; empty: nobody knows
};

// What a machine does with an assignment whose window is over.
enum class Fate {
  kAnswers,
  kFails,     // says so, and sends nothing
  kLoses,     // says that it is done, and sends nothing
  kVanishes,  // is not heard of for a while, from its window on
  kCrashes,   // is restarted while it measures, and knows of nothing
  kLies,      // sends profiles that say what was not drawn, and bytes that are none
  kMisdates,  // has a clock that is hours off, and does not know
  kHangs,     // is not heard of for a while, as if stopped, and then goes on where it was: with the profile
};

struct FleetBehaviour {
  // The stacks of a profile of that machine's window, as ProfileSpec has them; `process` is the job.
  std::function<std::string(const SimulatedMachine& machine, int64_t from_ns, int64_t to_ns)> stacks;
  std::function<Fate(const SimulatedMachine& machine, const wire::Assignment& assignment)> fate;
  int64_t vanishes_for_ns = 0;
  // How often somebody wants all machines of a job measured, one job after the other, whatever is drawn.
  int64_t orders_every_ns = int64_t{40} * 60 * 1'000'000'000;
};

// One thread. Machines are heard of one after the other, each once in a heartbeat; what was measured is sent with the next.
class SimulatedFleet {
 public:
  // Borrows the server, and gives it the machines' racks as an inventory.
  SimulatedFleet(std::vector<SimulatedMachine> machines, FleetBehaviour behaviour, SimulatedServer& server,
                 int64_t heartbeat_ns, const scheduler::SafetyLimits& limits);

  // Up to that time, from where it stands; first from the server's start on.
  void run(int64_t from_ns, int64_t to_ns);

  const MeasuringWatch& watch() const { return watch_; }
  size_t profiles_sent() const { return profiles_; }  // that were accepted
  size_t measured() const { return watch_.measurements(); }
  size_t orders() const { return orders_; }  // that were taken

 private:
  struct Task {
    wire::Assignment assignment;
    int64_t from_ns = 0;  // when it began to measure
    wire::AssignmentState state = wire::WAITING;
    bool has_hung = false;
  };
  struct Daemon {
    SimulatedMachine machine;
    Members members;
    bool is_registered = false;
    int64_t silent_until_ns = 0;
    std::map<std::string, Task> tasks;  // by ID
  };

  void order_measurements(int64_t now_ns);
  void visit(Daemon& daemon, int64_t now_ns);
  // Whatever of its tasks is over by now. False: it has vanished with one.
  bool finish_tasks(Daemon& daemon, int64_t now_ns);
  void send_profile(const Daemon& daemon, const Task& task);
  void send_lies(const Daemon& daemon, const Task& task);
  void send_misdated(const Daemon& daemon, const Task& task);
  wire::RawProfile profile_of(const Daemon& daemon, const Task& task);
  void register_machine(Daemon& daemon);
  void send_heartbeat(Daemon& daemon, int64_t now_ns);

  std::vector<Daemon> daemons_;
  const FleetBehaviour behaviour_;
  SimulatedServer& server_;
  const int64_t heartbeat_ns_;
  MeasuringWatch watch_;
  uint64_t seed_ = 0;  // of the newest profile
  size_t profiles_ = 0;
  std::vector<std::string> jobs_;
  int64_t next_order_ns_ = 0;
  size_t asked_ = 0;  // for orders
  size_t orders_ = 0;
};

}  // namespace plimsoll::simulation
