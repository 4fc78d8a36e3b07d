#include "tests/simulation/simulated_server.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/log.h"

namespace plimsoll::simulation {
namespace {

template <typename Outcome>
Outcome must(Outcome outcome) {
  if (!outcome) {
    log_error("{}", outcome.error().text());
    std::abort();
  }
  return outcome;
}

}  // namespace

SimulatedServer::SimulatedServer(std::string data_dir, scheduler::DrawSettings settings, uint64_t seed,
                                 scheduler::CollectionBreakerSettings breaker)
    : data_dir_(std::move(data_dir)),
      settings_(std::move(settings)),
      seed_(seed),
      breaker_settings_(breaker) {}

void SimulatedServer::start(int64_t now_ns) {
  now_ns_ = now_ns;
  ingest_ = *must(store::Ingest::open(data_dir_));
  const store::DataDirectory& directory = ingest_->directory();
  machines_ = std::make_unique<store::LiveMachines>(
      *must(store::LiveMachines::open(directory.live_path(), sqlite::OpenMode::kRead)));
  EXPECT_TRUE(ingest_->with_machines(
      [&](store::LiveMachines& machines) { return machines.note_server_start(now_ns); }));
  const auto open_store = [&] {
    return std::move(*must(store::DrawStore::open(directory.draws_path(), sqlite::OpenMode::kReadWrite)));
  };
  breaker_ = *must(scheduler::CollectionBreaker::open(open_store(), breaker_settings_));
  drawer_ = *must(scheduler::Drawer::open(
      open_store(), open_store(), *must(scheduler::DrawPolicy::make(settings_, seed_)), *breaker_, now_ns));
  scheduler::FleetOptions options;
  options.heartbeat_interval_ns = settings_.heartbeat_ns;
  options.now_ns = [this] { return now_ns_; };
  service_ = std::make_unique<scheduler::FleetService>(*ingest_, std::move(options), *breaker_, drawer_.get(),
                                                       [] {});
}

void SimulatedServer::crash() {
  service_.reset();
  drawer_.reset();
  breaker_.reset();
  machines_.reset();
  ingest_.reset();
}

void SimulatedServer::advance_to(int64_t now_ns) {
  now_ns_ = now_ns;
  if (is_up() && drawer_->next_due_ns() <= now_ns_) {
    must(drawer_->draw_if_due(now_ns_, *machines_));
  }
}

Result<std::string> SimulatedServer::order(const scheduler::MeasuringOrder& order) {
  return drawer_->draw_by_order(order, now_ns_, *machines_);
}

void SimulatedServer::keep_inventory(const std::vector<store::InventoryMachine>& inventory) {
  EXPECT_TRUE(ingest_->with_machines(
      [&](store::LiveMachines& machines) { return machines.keep_inventory(inventory, now_ns_); }));
}

void SimulatedServer::build_rows() {
  while (must(ingest_->build_pending())->profiles > 0) {
  }
}

}  // namespace plimsoll::simulation
