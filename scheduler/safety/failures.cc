#include "scheduler/safety/failures.h"

#include <algorithm>
#include <array>
#include <map>

#include "statistics/binomial.h"
#include "store/draws/draw_outcome.h"

namespace plimsoll::scheduler {
namespace {

using store::StopScope;

constexpr double kSurely = 3;  // standard deviations: one in 740

struct Count {
  size_t attempts = 0;
  size_t failures = 0;

  double share() const {
    return attempts == 0 ? 0 : static_cast<double>(failures) / static_cast<double>(attempts);
  }
  // Beyond chance: of many parts that are looked at every few minutes, one in a small part of the fleet has bad luck now and then.
  bool is_over(const FailureLimits& limits) const {
    return failures >= limits.min_failures &&
           statistics::wilson_low(share(), static_cast<double>(attempts), kSurely) >= limits.share;
  }
  void add(const Attempt& attempt) {
    ++attempts;
    failures += attempt.has_failed ? 1 : 0;
  }
  Count without(const Count& other) const { return {attempts - other.attempts, failures - other.failures}; }
};

Count count_all(std::span<const Attempt> attempts) {
  Count count;
  for (const Attempt& attempt : attempts) {
    count.add(attempt);
  }
  return count;
}

// The part that fails far more than the rest, by the widest gap; everything, where there is none.
Scope most_failing(std::span<const Attempt> attempts, const FailureLimits& limits) {
  std::map<Scope, Count> counts;
  for (const Attempt& attempt : attempts) {
    counts[{StopScope::kEventSet, attempt.event_set}].add(attempt);
    counts[{StopScope::kDaemonVersion, attempt.daemon_version}].add(attempt);
    counts[{StopScope::kPlatform, attempt.platform}].add(attempt);
  }
  const Count all = count_all(attempts);
  Scope found{StopScope::kEverything, ""};
  double widest_gap = 0;
  for (const auto& [scope, count] : counts) {
    const Count rest = all.without(count);
    const double gap = count.share() - rest.share();
    // A cause is a part that fails at twice the rate of the rest; else the parts only share a cause elsewhere. Where all machines
    // are alike there is no rest to compare with, and the event set is what changes from draw to draw.
    const bool stands_out =
        rest.attempts > 0 ? count.share() > 2 * rest.share() : scope.first == StopScope::kEventSet;
    if (count.is_over(limits) && stands_out && gap > widest_gap) {
      found = scope;
      widest_gap = gap;
    }
  }
  return found;
}

bool has_failed(store::DrawOutcome outcome) {
  return outcome == store::DrawOutcome::kFailed || outcome == store::DrawOutcome::kVanished ||
         outcome == store::DrawOutcome::kLost;
}

}  // namespace

std::vector<Attempt> attempts_of(const store::DrawWithMachines& draw, int64_t now_ns) {
  std::vector<Attempt> attempts;
  const std::string event_set = store::event_set_of(draw.draw.collects);
  for (const store::DrawnMachine& machine : draw.machines) {
    const store::DrawOutcome outcome = store::outcome_of(draw.draw, machine, now_ns);
    if (machine.told_ns > 0 && (has_answer(outcome) || has_failed(outcome))) {
      attempts.push_back({.event_set = event_set,
                          .daemon_version = machine.daemon_version,
                          .platform = machine.platform,
                          .told_ns = machine.told_ns,
                          .has_failed = has_failed(outcome)});
    }
  }
  return attempts;
}

bool is_in(const Scope& scope, const Attempt& attempt) {
  switch (scope.first) {
    case StopScope::kEventSet:
      return attempt.event_set == scope.second;
    case StopScope::kDaemonVersion:
      return attempt.daemon_version == scope.second;
    case StopScope::kPlatform:
      return attempt.platform == scope.second;
    case StopScope::kEverything:
      return true;
  }
  return true;
}

std::vector<Scope> failing_scopes(std::span<const Attempt> attempts, const FailureLimits& limits) {
  std::vector<Attempt> left(attempts.begin(), attempts.end());
  std::vector<Scope> scopes;
  const Scope everything{StopScope::kEverything, ""};
  // A part can be over the limits where the whole is not.
  for (Scope scope = most_failing(left, limits);; scope = most_failing(left, limits)) {
    const bool is_laid_to_all = scope == everything;
    if (is_laid_to_all && !count_all(left).is_over(limits)) {
      return scopes;
    }
    if (is_laid_to_all || scopes.size() == kMaxScopes) {
      return {everything};
    }
    std::erase_if(left, [&](const Attempt& attempt) { return is_in(scope, attempt); });
    scopes.push_back(std::move(scope));
  }
}

}  // namespace plimsoll::scheduler
