#include "scheduler/safety/collection_breaker.h"

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/time.h"

namespace plimsoll::scheduler {
namespace {

using store::Stop;
using store::StopScope;
using store::StopStep;

constexpr int64_t kLongestPauseNs = int64_t{24} * 3600 * kNsPerSecond;
constexpr double kTenth = 0.1;

Scope scope_of(const Stop& stop) {
  return {stop.scope, stop.value};
}

// How many of so many that were drawn may measure.
size_t allowed(StopStep step, size_t drawn) {
  switch (step) {
    case StopStep::kNothing:
      return 0;
    case StopStep::kOneMachine:
      return 1;
    case StopStep::kATenth:
      return static_cast<size_t>(std::ceil(kTenth * static_cast<double>(drawn)));
    case StopStep::kAll:
      return drawn;
  }
  return 0;
}

std::string percent(size_t part, size_t all) {
  return fmt::format("{:.0f} %", 100 * static_cast<double>(part) / static_cast<double>(all));
}

int64_t pause_of(const CollectionBreakerSettings& settings, int64_t times) {
  int64_t pause_ns = settings.pause_ns;
  for (int64_t time = 1; time < times && pause_ns < kLongestPauseNs; ++time) {
    pause_ns *= 2;
  }
  return std::min(pause_ns, std::max(kLongestPauseNs, settings.pause_ns));
}

}  // namespace

Result<std::unique_ptr<CollectionBreaker>> CollectionBreaker::open(store::DrawStore store,
                                                                   CollectionBreakerSettings settings) {
  auto stops = store.stops();
  return stops ? Result<std::unique_ptr<CollectionBreaker>>(std::unique_ptr<CollectionBreaker>(
                     new CollectionBreaker(std::move(store), settings, std::move(*stops))))
               : propagate(stops);
}

Status CollectionBreaker::keep(std::vector<Stop> stops, int64_t now_ns, const std::string& log) {
  if (auto kept = store_.replace_stops(stops, now_ns, log); !kept) {
    return kept;
  }
  stops_ = std::move(stops);
  return {};
}

Status CollectionBreaker::stop_everything(const std::string& reason, const std::string& who, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  std::vector<Stop> stops = stops_;
  std::erase_if(stops, [](const Stop& stop) { return stop.by_hand; });
  stops.push_back({.scope = StopScope::kEverything, .reason = reason, .by_hand = true, .since_ns = now_ns});
  auto kept = keep(std::move(stops), now_ns, fmt::format("{} stopped everything: {}", who, reason));
  if (kept) {
    log_warning("everything is stopped by {}: {}", who, reason);
  }
  return kept;
}

Result<bool> CollectionBreaker::resume(const std::string& who, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::all_of(stops_, [](const Stop& stop) { return stop.step == StopStep::kAll; })) {
    return false;
  }
  // What failed before is not counted again.
  std::vector<Stop> stops;
  for (Stop stop : stops_) {
    if (!stop.by_hand) {
      stop.step = StopStep::kAll;
      stop.since_ns = now_ns;
      stop.next_ns = now_ns + settings_.window_ns;
      stops.push_back(std::move(stop));
    }
  }
  const auto kept = keep(std::move(stops), now_ns, fmt::format("{} resumed everything", who));
  if (!kept) {
    return propagate(kept);
  }
  log_warning("{} resumed everything", who);
  return true;
}

void CollectionBreaker::step(Stop& stop, std::span<const Attempt> attempts, int64_t now_ns) const {
  size_t tried = 0;
  size_t failed = 0;
  for (const Attempt& attempt : attempts) {
    if (attempt.told_ns > stop.since_ns && is_in(scope_of(stop), attempt)) {
      ++tried;
      failed += attempt.has_failed ? 1 : 0;
    }
  }
  const bool is_on_trial = stop.step == StopStep::kOneMachine || stop.step == StopStep::kATenth;
  if (is_on_trial && static_cast<double>(failed) > settings_.limits.share * static_cast<double>(tried)) {
    ++stop.times;
    stop.step = StopStep::kNothing;
    stop.reason = fmt::format("{} of {} failed when tried again", failed, tried);
    stop.since_ns = now_ns;
    stop.next_ns = now_ns + pause_of(settings_, stop.times);
  } else if (now_ns >= stop.next_ns && (!is_on_trial || tried > 0)) {
    stop.step = static_cast<StopStep>(static_cast<int>(stop.step) + 1);
    stop.since_ns = now_ns;
    stop.next_ns = stop.step == StopStep::kAll ? now_ns + settings_.window_ns : now_ns;
  }
}

Stop CollectionBreaker::stop_for(const Scope& scope, std::vector<Stop>& stops,
                                 std::span<const Attempt> attempts, int64_t now_ns) const {
  const auto in_scope = [&](const Attempt& attempt) { return is_in(scope, attempt); };
  const auto tried = static_cast<size_t>(std::ranges::count_if(attempts, in_scope));
  const auto failed = static_cast<size_t>(std::ranges::count_if(
      attempts, [&](const Attempt& attempt) { return attempt.has_failed && in_scope(attempt); }));
  Stop stop{.scope = scope.first,
            .value = scope.second,
            .reason = fmt::format("{} of {} machines failed ({})", failed, tried, percent(failed, tried)),
            .since_ns = now_ns};
  const auto is_before = [&](const Stop& other) { return !other.by_hand && scope_of(other) == scope; };
  if (const auto before = std::ranges::find_if(stops, is_before); before != stops.end()) {
    stop.times = before->times + 1;
    stops.erase(before);
  }
  stop.next_ns = now_ns + pause_of(settings_, stop.times);
  return stop;
}

Status CollectionBreaker::judge(std::span<const Attempt> attempts, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  std::vector<Stop> stops;
  std::string log;
  for (const Stop& before : stops_) {
    Stop stop = before;
    if (!stop.by_hand && stop.step == StopStep::kAll && now_ns >= stop.next_ns) {
      continue;  // what failed once is long ago
    }
    if (!stop.by_hand && stop.step != StopStep::kAll) {
      step(stop, attempts, now_ns);
    }
    if (stop.step != before.step) {
      log += fmt::format("{}: step {} ({}). ", name_of(stop), static_cast<int>(stop.step), stop.reason);
    }
    stops.push_back(std::move(stop));
  }
  // What is stopped or on trial was judged above; of what was, only what came after it counts.
  std::vector<Attempt> others(attempts.begin(), attempts.end());
  std::erase_if(others, [&](const Attempt& attempt) {
    return std::ranges::any_of(stops, [&](const Stop& stop) {
      return !stop.by_hand && is_in(scope_of(stop), attempt) &&
             (stop.step != StopStep::kAll || attempt.told_ns <= stop.since_ns);
    });
  });
  std::vector<Scope> failing = failing_scopes(others, settings_.limits);
  const auto held_back = static_cast<size_t>(std::ranges::count_if(
      stops, [](const Stop& stop) { return !stop.by_hand && stop.step != StopStep::kAll; }));
  if (!failing.empty() && held_back + failing.size() > kMaxScopes) {
    failing = {{StopScope::kEverything, ""}};
  }
  for (const Scope& scope : failing) {
    stops.push_back(stop_for(scope, stops, others, now_ns));
    log += fmt::format("{} stopped: {}. ", name_of(stops.back()), stops.back().reason);
  }
  if (stops == stops_) {
    return {};
  }
  if (!log.empty()) {
    log_warning("{}", log);
  }
  return keep(std::move(stops), now_ns, log);
}

std::vector<Stop> CollectionBreaker::stops() const {
  const std::lock_guard lock(mutex_);
  std::vector<Stop> stops = stops_;
  std::erase_if(stops, [](const Stop& stop) { return stop.step == StopStep::kAll; });
  return stops;
}

bool CollectionBreaker::is_stopped(const Attempt& who) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(stops_, [&](const Stop& stop) {
    return stop.step == StopStep::kNothing && is_in(scope_of(stop), who);
  });
}

bool CollectionBreaker::is_everything_stopped() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(stops_, [](const Stop& stop) {
    return stop.step == StopStep::kNothing && stop.scope == StopScope::kEverything;
  });
}

std::vector<std::string> CollectionBreaker::held_back(std::span<const Attempt> drawn) const {
  std::vector<std::string> reasons(drawn.size());
  for (const Stop& stop : stops()) {
    const auto matching = static_cast<size_t>(
        std::ranges::count_if(drawn, [&](const Attempt& who) { return is_in(scope_of(stop), who); }));
    size_t left = allowed(stop.step, matching);
    for (size_t i = 0; i < drawn.size(); ++i) {
      if (!is_in(scope_of(stop), drawn[i]) || !reasons[i].empty()) {
        continue;
      }
      if (left > 0) {
        --left;
      } else {
        reasons[i] = fmt::format("stopped: {}: {}", name_of(stop), stop.reason);
      }
    }
  }
  return reasons;
}

}  // namespace plimsoll::scheduler
