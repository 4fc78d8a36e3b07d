#include "server/health/health.h"

#include <utility>

#include "base/time.h"
#include "base/version.h"
#include "query/registry/view.h"

namespace plimsoll::server {
namespace {

std::vector<std::string> names_of_answering_views() {
  std::vector<std::string> names;
  for (const query::View& view : query::views()) {
    if (view.answer) {
      names.push_back(view.name);
    }
  }
  return names;
}

}  // namespace

query::RunningServer running_server(const ServerHealth& health) {
  query::RunningServer running{.version = health.version,
                               .started_ns = health.started_ns,
                               .work = health.work,
                               .daemons_with_problem = health.daemons.with_problem,
                               .problem = health.daemons.problem,
                               .daemons_slowed_down = health.daemons.slowed_down,
                               .profiles_queued = health.daemons.profiles_queued,
                               .spooled_bytes = health.daemons.spooled_bytes,
                               .store = health.measured.store,
                               .store_error = health.measured.store_error};
  for (const ListenerHealth& listener : health.listeners) {
    (listener.name == "clients" ? running.address : running.fleet_address) = listener.address;
  }
  return running;
}

HealthCollector::HealthCollector(const std::string& data_dir, scheduler::FleetService& fleet,
                                 BackgroundWork& work, Listeners listeners)
    : fleet_(fleet),
      work_(work),
      listeners_(std::move(listeners)),
      started_ns_(wall_now_ns()),
      questions_(names_of_answering_views()),
      watch_(data_dir, work) {}

ServerHealth HealthCollector::collect() {
  return {.now_ns = wall_now_ns(),
          .version = std::string(version()),
          .started_ns = started_ns_,
          .listeners = listeners_(),
          .received = fleet_.received(),
          .daemons = fleet_.daemons(),
          .work = work_.all(),
          .questions = questions_.all(),
          .measured = watch_.newest(),
          .process = process_health()};
}

}  // namespace plimsoll::server
