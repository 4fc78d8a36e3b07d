// Draws by order.
#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/malloc_trim_scope.h"
#include "base/time.h"
#include "scheduler/assignments/draw_method.h"
#include "scheduler/assignments/drawer.h"

namespace plimsoll::scheduler {
namespace {

constexpr int64_t kLongestWaitNs = 3600 * kNsPerSecond;

// So that draws have readable names.
int64_t in_whole_seconds(int64_t time_ns) {
  return (time_ns + kNsPerSecond - 1) / kNsPerSecond * kNsPerSecond;
}

}  // namespace

std::vector<std::pair<int64_t, int64_t>> Drawer::windows(bool of_orders_alone) const {
  std::set<std::pair<int64_t, int64_t>> windows;
  for (const OpenDraw& open : open_) {
    if (of_orders_alone && !store::is_by_order(open.draw.id)) {
      continue;
    }
    for (const auto& [id, machine] : open.machines) {
      if (machine.window_start_ns > 0) {
        windows.emplace(machine.window_start_ns, store::window_end_ns(open.draw, machine));
      }
    }
  }
  return {windows.begin(), windows.end()};
}

Result<int64_t> Drawer::free_time_ns(int64_t from_ns, int64_t length_ns) const {
  const int64_t latest_ns = from_ns + kLongestWaitNs;
  int64_t start_ns = in_whole_seconds(from_ns);
  for (const auto& [begin_ns, end_ns] : windows(/*of_orders_alone=*/false)) {
    const bool meets = start_ns < end_ns + kMinGapNs && begin_ns < start_ns + length_ns + kMinGapNs;
    start_ns = meets ? in_whole_seconds(end_ns + kMinGapNs) : start_ns;
  }
  return start_ns <= latest_ns
             ? Result<int64_t>(start_ns)
             : with_hint(fail(ErrorCode::kUnavailable, "no free time slot until {}: other draws are running",
                              format_time(latest_ns)),
                         "give a shorter --for, or try again later");
}

Result<std::string> Drawer::draw_by_order(const MeasuringOrder& order, int64_t now_ns,
                                          store::LiveMachines& machines) {
  if (auto checked = scheduler::check(order); !checked) {
    return propagate(checked);
  }
  if (breaker_.is_everything_stopped()) {
    return with_hint(fail(ErrorCode::kUnavailable, "collection is stopped"),
                     "see plimsoll collection; resume with plimsoll collection --resume");
  }
  const MallocTrimScope malloc_trim_scope;
  const auto fleet = KnownFleet::load(machines, now_ns);
  if (!fleet) {
    return propagate(fleet);
  }
  const wire::DrawMethod method = method_of(order);
  const Eligible eligible = scheduler::eligible(method, order.collects, *fleet);
  if (eligible.meant.empty()) {
    return with_hint(fail(ErrorCode::kNotFound, "none of {} live machines matches and can count these events",
                          eligible.all.size()),
                     "plimsoll machines --by instance shows what runs where");
  }
  store::Draw draw{.made_ns = now_ns,
                   .interval_ns = order.window_ns,
                   .window_ns = order.window_ns,
                   .seed = policy_.schedule().seed_of_order(now_ns),
                   .policy = text_of(order),
                   .method = method,
                   .collects = order.collects};
  draw.collects.set_duration_ns(order.window_ns);
  auto made = draw_from(eligible, std::move(draw));
  return made ? keep_order(std::move(*made), eligible.all, now_ns) : propagate(made);
}

Result<std::string> Drawer::keep_order(MadeDraw made, std::span<const Candidate> fleet, int64_t now_ns) {
  // Two heartbeats: one may be lost.
  const int64_t earliest_ns = now_ns + 2 * policy_.settings().heartbeat_ns;
  const std::vector<size_t> places = not_stopped(breaker_, made);
  store::Draw& draw = made.kept.draw;
  const std::scoped_lock lock(making_mutex_, mutex_);
  const auto start_ns = free_time_ns(earliest_ns, draw.window_ns);
  if (!start_ns) {
    return propagate(start_ns);
  }
  draw.id = fmt::format("{}{}", store::kOrderPrefix, format_time(*start_ns));
  draw.interval_start_ns = draw.window_start_ns = *start_ns;
  set_windows(places, std::span(&*start_ns, 1), draw.seed, fleet, made.numbers, policy_.settings().safety,
              policy_.settings().late_after_ns, made.kept);
  if (auto added = store_.add(made.kept); !added) {
    return propagate(added);
  }
  log_info("draw {}, {}: {} of {} matching machines", draw.id, draw.policy, made.kept.machines.size(),
           draw.machines());
  std::string id = draw.id;
  keep_open(std::move(made.kept));
  return id;
}

}  // namespace plimsoll::scheduler
