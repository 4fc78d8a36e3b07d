// The server's health, collected from all its parts: what /metrics and the view `status` show.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "http/listener.h"
#include "query/operations/running_server.h"
#include "scheduler/fleet_service.h"
#include "server/background/background_work.h"
#include "server/health/fleet_watch.h"
#include "server/health/process_health.h"
#include "server/health/question_times.h"

namespace plimsoll::server {

struct ListenerHealth {
  std::string name;  // "clients" or "daemons"
  std::string address = {};
  http::ListenerCounts counts = {};
};

struct ServerHealth {
  int64_t now_ns = 0;  // wall clock: when it was collected
  std::string version;
  int64_t started_ns = 0;
  std::vector<ListenerHealth> listeners;
  scheduler::ReceivedProfiles received;
  scheduler::DaemonTotals daemons;
  scheduler::DrawOverhead overhead;
  std::vector<query::BackgroundWorkHealth> work;
  std::vector<ViewTimes> questions;
  std::vector<query::SymbolizerWorkerHealth> symbolizers = {};
  MeasuredFacts measured;
  ProcessHealth process;
};

// What the view `status` needs of it.
query::RunningServer running_server(const ServerHealth& health);

// Any thread.
class HealthCollector {
 public:
  using Listeners = std::function<std::vector<ListenerHealth>()>;  // those that listen by now; any thread

  using Symbolizers = std::function<std::vector<query::SymbolizerWorkerHealth>()>;  // any thread

  // Borrows the service and the work, which must outlive it. Starts to measure the data directory.
  HealthCollector(const std::string& data_dir, scheduler::FleetService& fleet, BackgroundWork& work,
                  Listeners listeners, Symbolizers symbolizers);

  // Takes milliseconds: what takes longer is some seconds old (FleetWatch).
  ServerHealth collect();

  QuestionTimes& questions() { return questions_; }

 private:
  scheduler::FleetService& fleet_;
  const BackgroundWork& work_;
  const Listeners listeners_;
  const Symbolizers symbolizers_;
  const int64_t started_ns_;
  QuestionTimes questions_;
  FleetWatch watch_;
};

}  // namespace plimsoll::server
