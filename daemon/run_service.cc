#include "daemon/run_service.h"

#include <csignal>
#include <cstdlib>
#include <optional>

#include "base/log.h"
#include "capture/identity/job_rules.h"
#include "daemon/agent.h"
#include "daemon/machine/machine.h"
#include "daemon/privileges/capabilities.h"
#include "daemon/probe.h"
#include "daemon/service/service_notifier.h"
#include "daemon/service/signals.h"
#include "daemon/spool/spool.h"
#include "traces/bursts/burst_events.h"

namespace plimsoll {
namespace {

constexpr uint64_t kMaxSpooledRecordings = 10'000;

void log_missing_capabilities() {
  for (const Capability& capability : needed_capabilities()) {
    if (!holds_capability(capability.number)) {
      log_warning("{}; {}", missing_capability_text(capability), grant_hint());
    }
  }
}

Result<AgentSetup> setup_of(config::DaemonConfig config) {
  auto rules = identity::JobRules::compile(config.identity);
  if (!rules) {
    return propagate(rules, "reading the configuration");
  }
  if (const Status known = traces::check_burst_events(config.bursts_events); !known) {
    return with_field(propagate(known, "reading the configuration"), "bursts.events");
  }
  auto exact_counts = compile_exact_counts(config.count);
  if (!exact_counts) {
    return propagate(exact_counts, "reading the configuration");
  }
  auto machine = identity::read_machine({.id = config.machine_id,
                                         .datacenter = config.datacenter,
                                         .cluster = config.cluster,
                                         .state_dir = config.state_dir});
  if (!machine) {
    return propagate(machine);
  }
  auto credentials = daemon_credentials(config);
  if (!credentials) {
    return propagate(credentials);
  }
  std::vector<std::string> missing = missing_events(config.events);
  return AgentSetup{std::move(config),        std::move(*machine),
                    std::move(*credentials),  std::make_shared<const identity::JobRules>(std::move(*rules)),
                    std::move(*exact_counts), std::move(missing)};
}

Budget budget_of(const config::DaemonConfig& config) {
  const int64_t of_bursts = config.bursts_permit ? config.bursts_max_memory_bytes : 0;
  return {.cpu_share = config.max_cpu_percent / 100,
          .resident_bytes = static_cast<uint64_t>(config.max_memory_bytes + of_bursts)};
}

Result<AgentSetup> read_again(const config::DaemonConfig& current, const config::LoadInputs& inputs) {
  auto config = config::load_daemon_config(inputs);
  if (!config) {
    return propagate(config, "reloading the configuration; keeping the previous one");
  }
  if (auto checked = check_reload(current, *config); !checked) {
    return propagate(checked, "reloading the configuration; keeping the previous one");
  }
  return setup_of(std::move(*config));
}

// What comes after this agent: another setup, or nothing, the end.
std::optional<AgentSetup> run_until_changed(Agent& agent, const config::DaemonConfig& current,
                                            const config::LoadInputs& inputs, const Signals& signals,
                                            ServiceNotifier& notifier) {
  for (;;) {
    agent.run();
    if (signals.take() != SIGHUP) {
      return std::nullopt;
    }
    notifier.reloading();
    auto next = read_again(current, inputs);
    if (next) {
      return std::move(*next);
    }
    log_error("{}", next.error().text());
    agent.set_problem(next.error().text());
    notifier.ready();
  }
}

}  // namespace

Status check_reload(const config::DaemonConfig& current, const config::DaemonConfig& next) {
  const char* changed = next.machine_id != current.machine_id               ? "machine.id"
                        : next.user != current.user                         ? "daemon.user"
                        : next.seccomp != current.seccomp                   ? "daemon.seccomp"
                        : next.state_dir != current.state_dir               ? "daemon.state_dir"
                        : next.max_spool_bytes != current.max_spool_bytes   ? "limits.max_spool_bytes"
                        : next.max_spool_age_ns != current.max_spool_age_ns ? "limits.max_spool_age"
                        : next.bursts_max_spool_bytes != current.bursts_max_spool_bytes
                            ? "bursts.max_spool_bytes"
                            : nullptr;
  if (changed == nullptr) {
    return {};
  }
  return with_hint(
      with_field(fail(ErrorCode::kConflict, "{} cannot change while the daemon runs", changed), changed),
      "restart the daemon");
}

Status run_service(config::DaemonConfig config, const config::LoadInputs& inputs) {
  const auto signals = Signals::install({SIGINT, SIGTERM, SIGHUP});
  if (!signals) {
    return propagate(signals);
  }
  log_missing_capabilities();
  ServiceNotifier notifier([](const char* name) -> const char* { return std::getenv(name); });
  const auto spool = spool::Spool::open({.folder = config.state_dir + "/spool",
                                         .max_bytes = static_cast<uint64_t>(config.max_spool_bytes),
                                         .max_age_ns = config.max_spool_age_ns});
  if (!spool) {
    return propagate(spool);
  }
  // Whether bursts are permitted or not: recordings of a former run are sent.
  const auto recordings =
      spool::Spool::open({.folder = config.state_dir + "/spool-bursts",
                          .kind = &spool::kind_of_recordings(),
                          .max_bytes = static_cast<uint64_t>(config.bursts_max_spool_bytes),
                          .max_age_ns = config.max_spool_age_ns,
                          .max_profiles = kMaxSpooledRecordings});
  if (!recordings) {
    return propagate(recordings);
  }
  auto first = setup_of(std::move(config));
  if (!first) {
    return propagate(first);
  }
  AgentSetup setup = std::move(*first);
  Governor governor(budget_of(setup.config));
  for (;;) {
    log_info("sending to {}", setup.config.server);
    governor.set_budget(budget_of(setup.config));
    Agent agent(setup, governor, **spool, **recordings, notifier, signals->fd());
    notifier.ready();
    auto next = run_until_changed(agent, setup.config, inputs, *signals, notifier);
    if (!next) {
      notifier.stopping();
    }
    agent.stop_collecting();
    if (!next) {
      agent.flush();
      return {};
    }
    setup = std::move(*next);
  }
}

}  // namespace plimsoll
