#include "server/fleet_settings.h"

#include <fmt/format.h>

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "scheduler/safety/overhead_budget.h"
#include "traces/bursts/burst_config.h"

namespace plimsoll::server {
namespace {

// What drawn machines collect is the same as what all do, but for events and times.
wire::Assignment collected(const config::ServerConfig& config) {
  wire::Assignment assignment;
  assignment.set_rate_hz(static_cast<uint32_t>(config.collect_rate_hz));
  assignment.set_stack_rate_hz(static_cast<uint32_t>(config.collect_stack_rate_hz));
  assignment.set_stack_bytes(static_cast<uint32_t>(config.collect_stack_bytes));
  assignment.set_branch_rate_hz(static_cast<uint32_t>(config.collect_branch_rate_hz));
  assignment.mutable_application_kinds()->Add(config.collect_application_kinds.begin(),
                                              config.collect_application_kinds.end());
  return assignment;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(std::move(word));
  }
  return words;
}

scheduler::DrawSettings draw_settings(const config::ServerConfig& config) {
  scheduler::DrawSettings settings;
  settings.interval_ns = config.draw_interval_ns;
  settings.window_ns = config.collect_window_ns;
  settings.late_after_ns = config.draw_late_after_ns;
  settings.heartbeat_ns = config.heartbeat_ns;
  settings.cooldown_ns = config.draw_cooldown_ns;
  settings.size = {.fraction = config.draw_percent / 100,
                   .machines = static_cast<size_t>(config.draw_machines),
                   .min_per_stratum = static_cast<size_t>(config.draw_min_per_stratum),
                   .min_per_job = config.draw_min_per_job};
  settings.safety = {.share_of_job = config.draw_max_percent_per_job / 100,
                     .share_of_platform = config.draw_max_percent_per_platform / 100,
                     .share_of_rack = config.draw_max_percent_per_rack / 100,
                     .share_of_cpu = config.draw_max_overhead_percent / 100};
  settings.strata = config.draw_strata;
  for (const std::string& set : config.draw_event_sets) {
    settings.event_sets.push_back(words(set));
  }
  if (settings.event_sets.empty()) {
    settings.event_sets.push_back(config.collect_events);
  }
  settings.collects = collected(config);
  return settings;
}

// The key of the configuration that a field of the policy comes from.
Error of_key(Error error) {
  static const std::map<std::string, std::string> keys{{"window", "collect.window"},
                                                       {"fraction", "draw.percent"},
                                                       {"share_of_job", "draw.max_percent_per_job"},
                                                       {"share_of_platform", "draw.max_percent_per_platform"},
                                                       {"share_of_rack", "draw.max_percent_per_rack"},
                                                       {"share_of_cpu", "draw.max_overhead_percent"}};
  if (error.field.starts_with("bursts.")) {
    return error;
  }
  const auto other = keys.find(error.field);
  error.field = other == keys.end() ? "draw." + error.field : other->second;
  return error;
}

Result<wire::BurstRequest> burst_request(const config::ServerConfig& config) {
  const auto burst_config = traces::BurstConfig::parse(config.bursts_config);
  if (!burst_config) {
    return with_field(propagate(burst_config), "bursts.config");
  }
  wire::BurstRequest bursts;
  bursts.set_config_bits(burst_config->bits());
  bursts.set_duration_ns(config.bursts_duration_ns);
  bursts.mutable_events()->Add(config.bursts_events.begin(), config.bursts_events.end());
  bursts.set_max_bytes(static_cast<uint64_t>(config.bursts_max_bytes));
  bursts.set_max_overhead(config.bursts_max_overhead_percent / 100);
  return bursts;
}

Result<scheduler::DrawPolicy> draw_policy(const config::ServerConfig& config, uint64_t seed) {
  scheduler::DrawSettings settings = draw_settings(config);
  if (!config.bursts_config.empty()) {
    auto bursts = burst_request(config);
    if (!bursts) {
      return propagate(bursts);
    }
    *settings.collects.mutable_bursts() = std::move(*bursts);
  }
  auto policy = scheduler::DrawPolicy::make(std::move(settings), seed);
  return policy ? std::move(policy) : Result<scheduler::DrawPolicy>(std::unexpected(of_key(policy.error())));
}

http::Role role_of(std::string_view name) {
  for (const http::Role role :
       {http::Role::kRead, http::Role::kUpload, http::Role::kEnrol, http::Role::kFdo, http::Role::kBinaries,
        http::Role::kSymbolizer, http::Role::kRelay, http::Role::kReplica, http::Role::kAdmin}) {
    if (name == http::name_of(role)) {
      return role;
    }
  }
  return http::Role::kStranger;  // the configuration has no others
}

AccessSettings access_settings(const config::ServerConfig& config) {
  AccessSettings settings;
  settings.tokens = known_tokens(config);
  settings.trusts_certificates = !config.access_machine_ca.empty();
  settings.max_requests_per_minute = static_cast<double>(config.access_max_requests_per_minute);
  settings.max_requests_per_minute_per_token =
      static_cast<double>(config.access_max_requests_per_minute_per_token);
  return settings;
}

}  // namespace

std::vector<KnownToken> known_tokens(const config::ServerConfig& config) {
  std::vector<KnownToken> tokens;
  for (const config::AccessToken& token : config.access_tokens) {
    // A time that cannot be read was refused with the configuration.
    tokens.push_back({token.name, token.sha256, role_of(token.role), token.expires_ns().value_or(0)});
  }
  return tokens;
}

std::optional<std::string> overhead_warning(const config::ServerConfig& config) {
  if (config.draw_interval_ns == 0 || config.draw_machines > 0) {
    return std::nullopt;
  }
  const int64_t stack_rate_hz =
      config.collect_stack_rate_hz > 0 ? config.collect_stack_rate_hz : config.collect_rate_hz;
  const double expected_percent =
      100 * scheduler::expected_overhead({.share_drawn = config.draw_percent / 100,
                                          .window_ns = config.collect_window_ns,
                                          .interval_ns = config.draw_interval_ns,
                                          .stacks_per_s = static_cast<double>(stack_rate_hz)});
  if (expected_percent <= config.draw_max_overhead_percent) {
    return std::nullopt;
  }
  // Proportional to the percentage that is drawn.
  const double affordable_percent = config.draw_percent * config.draw_max_overhead_percent / expected_percent;
  return fmt::format(
      "drawing {:g} % of the machines every {} for {} is expected to take {:.2g} % of the fleet's CPU time, "
      "more "
      "than {:g} %: drawn machines will be withheld regularly. Set draw.percent to at most {:.2g}, or "
      "lengthen draw.interval, shorten collect.window, or raise draw.max_overhead_percent",
      config.draw_percent, format_duration(config.draw_interval_ns),
      format_duration(config.collect_window_ns), expected_percent, config.draw_max_overhead_percent,
      affordable_percent);
}

Result<std::unique_ptr<Authenticator>> open_authenticator(const config::ServerConfig& config,
                                                          const store::DataDirectory& directory) {
  auto accounts = directory.open_access();
  if (!accounts) {
    return propagate(accounts);
  }
  auto log = directory.open_access();
  if (!log) {
    return propagate(log);
  }
  return Authenticator::open(access_settings(config), std::move(*accounts), std::move(*log));
}

Result<std::unique_ptr<Authenticator>> open_authenticator(const config::ServerConfig& config,
                                                          const std::string& access_path) {
  auto accounts = store::AccessStore::open(access_path, sqlite::OpenMode::kReadWrite);
  auto log =
      accounts ? store::AccessStore::open(access_path, sqlite::OpenMode::kReadWrite) : propagate(accounts);
  return log ? Authenticator::open(access_settings(config), std::move(*accounts), std::move(*log))
             : propagate(log);
}

scheduler::FleetOptions fleet_options(const config::ServerConfig& config, Authenticator& authenticator) {
  scheduler::FleetOptions options;
  options.heartbeat_interval_ns = config.heartbeat_ns;
  options.machine_ttl_ns = config.fleet_machine_ttl_ns;
  options.limits.max_encoded_bytes = static_cast<uint64_t>(config.max_profile_bytes);
  options.continuous = collected(config);
  options.continuous.set_id("continuous");
  options.continuous.set_duration_ns(config.collect_window_ns);
  options.continuous.set_continuous(true);
  for (const std::string& event : config.collect_events) {
    options.continuous.add_events()->set_name(event);
  }
  options.enrol = [&authenticator](const http::Caller& caller, const std::string& machine_id) {
    return authenticator.enrol(caller, machine_id);
  };
  return options;
}

Status check_draws(const config::ServerConfig& config) {
  if (config.draw_interval_ns == 0) {
    return {};
  }
  const auto policy = draw_policy(config, 0);
  return policy ? Status() : propagate(policy);
}

Result<std::unique_ptr<scheduler::CollectionBreaker>> open_breaker(const config::ServerConfig& config,
                                                                   const store::DataDirectory& directory) {
  auto store = directory.open_draws();
  if (!store) {
    return propagate(store);
  }
  return scheduler::CollectionBreaker::open(
      std::move(*store), {.limits = {.share = config.draw_stop_percent / 100,
                                     .min_failures = static_cast<size_t>(config.draw_stop_min_failures)},
                          .pause_ns = config.draw_stop_pause_ns});
}

Result<std::unique_ptr<scheduler::Drawer>> open_drawer(const config::ServerConfig& config,
                                                       const store::DataDirectory& directory,
                                                       scheduler::CollectionBreaker& breaker,
                                                       int64_t now_ns) {
  if (config.draw_interval_ns == 0) {
    return nullptr;
  }
  auto store = directory.open_draws();
  if (!store) {
    return propagate(store);
  }
  auto past = directory.open_draws();
  if (!past) {
    return propagate(past);
  }
  const auto seed = store->seed();
  auto machines = directory.open_machines();
  const auto noted = machines ? machines->note_server_start(now_ns) : propagate(machines);
  if (!seed || !noted) {
    return !seed ? propagate(seed) : propagate(noted);
  }
  auto policy = draw_policy(config, *seed);
  if (!policy) {
    return propagate(policy);
  }
  return scheduler::Drawer::open(std::move(*store), std::move(*past), std::move(*policy), breaker, now_ns);
}

}  // namespace plimsoll::server
