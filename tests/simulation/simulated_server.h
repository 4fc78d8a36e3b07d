// The server of a simulated fleet: its real parts, without network and threads, at a time that the simulation sets.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/assignments/drawer.h"
#include "scheduler/fleet_service.h"
#include "store/ingest.h"

namespace plimsoll::simulation {

// Gives up the process where a part of it fails: the simulation rests on all of them.
class SimulatedServer {
 public:
  SimulatedServer(std::string data_dir, scheduler::DrawSettings settings, uint64_t seed,
                  scheduler::CollectionBreakerSettings breaker = {});

  void start(int64_t now_ns);
  void crash();  // until it is started again
  bool is_up() const { return service_ != nullptr; }

  // Its time goes on; a draw is made where one is due. Only forward.
  void advance_to(int64_t now_ns);

  scheduler::FleetService& service() { return *service_; }
  scheduler::CollectionBreaker& breaker() { return *breaker_; }
  // Somebody wants these measured now.
  Result<std::string> order(const scheduler::MeasuringOrder& order);
  void keep_inventory(const std::vector<store::InventoryMachine>& inventory);
  // All profiles that were accepted become rows.
  void build_rows();
  const std::string& data_dir() const { return data_dir_; }

 private:
  const std::string data_dir_;
  const scheduler::DrawSettings settings_;
  const uint64_t seed_;
  const scheduler::CollectionBreakerSettings breaker_settings_;
  int64_t now_ns_ = 0;
  std::unique_ptr<store::Ingest> ingest_;
  std::unique_ptr<store::LiveMachines> machines_;
  std::unique_ptr<scheduler::CollectionBreaker> breaker_;
  std::unique_ptr<scheduler::Drawer> drawer_;
  std::unique_ptr<scheduler::FleetService> service_;
};

}  // namespace plimsoll::simulation
