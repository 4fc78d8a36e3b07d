#include "scheduler/assignments/drawer.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/malloc_trim_scope.h"
#include "base/time.h"
#include "scheduler/assignments/burst_draws.h"
#include "scheduler/assignments/draw_method.h"

namespace plimsoll::scheduler {
namespace {

// Longer than any profile waits in a spool by default.
constexpr int64_t kRememberMachinesNs = int64_t{32} * 24 * 3600 * kNsPerSecond;

bool is_over(wire::AssignmentState state) {
  return state == wire::DONE || state == wire::REFUSED || state == wire::FAILED;
}

// A machine whose clock is wrong has corrected its times by ours.
Status check_time(const wire::Window& window, const wire::Draw& draw) {
  const int64_t earliest_ns = draw.interval_start_ns() - store::kWindowToleranceNs;
  const int64_t latest_ns = draw.interval_start_ns() + draw.interval_ns() + store::kWindowToleranceNs;
  return window.start().wall_ns() >= earliest_ns && window.end().wall_ns() <= latest_ns
             ? Status()
             : with_field(
                   fail(ErrorCode::kInvalid, "the profile is from {} to {}, outside the interval of draw {}",
                        format_time(window.start().wall_ns()), format_time(window.end().wall_ns()),
                        draw.id()),
                   "window");
}

}  // namespace

Result<std::unique_ptr<Drawer>> Drawer::open(store::DrawStore store, store::DrawStore past, DrawPolicy policy,
                                             CollectionBreaker& breaker, int64_t now_ns) {
  std::unique_ptr<Drawer> drawer(
      new Drawer(std::move(store), std::move(past), std::move(policy), breaker, now_ns));
  const auto opened = drawer->open_kept_draws(now_ns);
  return opened ? Result<std::unique_ptr<Drawer>>(std::move(drawer)) : propagate(opened);
}

Drawer::Drawer(store::DrawStore store, store::DrawStore past, DrawPolicy policy, CollectionBreaker& breaker,
               int64_t now_ns)
    : policy_(std::move(policy)),
      breaker_(breaker),
      past_(std::move(past)),
      budget_(policy_.settings().safety.share_of_cpu),
      store_(std::move(store)),
      drawn_until_ns_(0),
      next_number_(policy_.schedule().newest(now_ns).number),
      // Until then whoever lives has been heard of.
      not_before_ns_(now_ns + policy_.lease_ns()) {}

Status Drawer::open_kept_draws(int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  auto draws = store_.open_draws(now_ns - kMaxBurstsNs);
  const auto drawn_until_ns = store_.drawn_until_ns();
  if (!draws || !drawn_until_ns) {
    return !draws ? propagate(draws) : propagate(drawn_until_ns);
  }
  drawn_until_ns_ = *drawn_until_ns;
  for (store::DrawWithMachines& draw : *draws) {
    if (open_until_ns(draw) > now_ns) {
      keep_open(std::move(draw));
    }
  }
  return {};
}

void Drawer::keep_open(store::DrawWithMachines draw) {
  const int64_t until_ns = open_until_ns(draw);
  const int64_t due_ns = draw.draw.due_ns;
  OpenDraw& open =
      open_.emplace_back(OpenDraw{.draw = std::move(draw.draw), .until_ns = until_ns, .wake_ns = due_ns});
  for (store::DrawnMachine& machine : draw.machines) {
    std::string id = machine.machine_id;
    open.machines.emplace(std::move(id), std::move(machine));
  }
}

int64_t Drawer::next_due_ns() const {
  const std::lock_guard lock(mutex_);
  int64_t due_ns = std::max(policy_.schedule().draw(next_number_).made_ns, not_before_ns_);
  for (const OpenDraw& open : open_) {
    due_ns = std::min(due_ns, open.wake_ns);  // then it is known what came of it
  }
  return std::max(due_ns, not_judged_before_ns_);
}

Status Drawer::judge(int64_t now_ns) {
  const auto draws = past_.made_after(now_ns - breaker_.settings().window_ns);
  if (!draws) {
    return propagate(draws);
  }
  budget_.learn(*draws, policy_.settings().late_after_ns, now_ns);
  std::vector<Attempt> attempts;
  for (const store::DrawWithMachines& draw : *draws) {
    std::ranges::move(attempts_of(draw, now_ns), std::back_inserter(attempts));
  }
  return breaker_.judge(attempts, now_ns);
}

bool Drawer::is_possible(const ScheduledDraw& draw, int64_t now_ns) const {
  return draw.interval_start_ns >= drawn_until_ns_ &&
         draw.window_start_ns >= now_ns + policy_.settings().heartbeat_ns;
}

Status Drawer::draw_if_due(int64_t now_ns, store::LiveMachines& machines) {
  if (auto judged = judge(now_ns); !judged) {
    const std::lock_guard lock(mutex_);
    not_judged_before_ns_ = now_ns + policy_.settings().heartbeat_ns;
    return propagate(judged, "checking the results of draws");
  }
  ScheduledDraw draw;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(open_, [&](const OpenDraw& open) { return open.until_ns <= now_ns; });
    for (OpenDraw& open : open_) {
      open.wake_ns = open.draw.due_ns <= now_ns ? open.until_ns : open.wake_ns;
    }
    draw = policy_.schedule().newest(now_ns);
    if (draw.number < next_number_ || now_ns < not_before_ns_) {
      return {};
    }
    const bool is_stopped = breaker_.is_everything_stopped();
    if (!is_possible(draw, now_ns)) {
      if (draw.interval_start_ns >= drawn_until_ns_ && !is_stopped) {
        log_warning("no draw for the {} from {}: too late for a heartbeat before the window",
                    format_duration(policy_.settings().interval_ns), format_time(draw.interval_start_ns));
      }
      next_number_ = draw.number + 1;
      return {};
    }
    if (is_stopped) {
      not_before_ns_ = now_ns + policy_.settings().heartbeat_ns;
      return {};
    }
  }
  return make_and_keep(draw, now_ns, machines);
}

Status Drawer::make_and_keep(const ScheduledDraw& draw, int64_t now_ns, store::LiveMachines& machines) {
  const std::lock_guard making(making_mutex_);
  auto made = make(draw, now_ns, machines);
  const std::lock_guard lock(mutex_);
  not_before_ns_ = now_ns + policy_.settings().heartbeat_ns;
  if (!made) {
    return propagate(made, "drawing machines");
  }
  if (*made == nullptr) {
    return {};
  }
  store::DrawWithMachines& kept = (*made)->kept;
  if (auto added = store_.add(kept); !added) {
    return added;
  }
  log_info("draw {}: {} of {} machines, from {}", kept.draw.id, kept.machines.size(), kept.draw.machines(),
           format_time(kept.draw.window_start_ns));
  drawn_until_ns_ = kept.draw.interval_start_ns + kept.draw.interval_ns;
  next_number_ = draw.number + 1;
  keep_open(std::move(kept));
  return store_.forget_machines(now_ns - kRememberMachinesNs);
}

Result<std::unique_ptr<MadeDraw>> Drawer::make(const ScheduledDraw& draw, int64_t now_ns,
                                               store::LiveMachines& machines) const {
  const wire::DrawMethod method = method_of(policy_, draw);
  const wire::Assignment collects = policy_.assignment(draw);
  const MallocTrimScope malloc_trim_scope;
  const auto fleet = KnownFleet::load(machines, now_ns);
  if (!fleet) {
    return propagate(fleet);
  }
  const Eligible eligible = scheduler::eligible(method, collects, *fleet);
  if (eligible.meant.empty()) {
    return nullptr;
  }
  auto drawn = draw_from(eligible, {.id = draw.id,
                                    .made_ns = now_ns,
                                    .interval_start_ns = draw.interval_start_ns,
                                    .interval_ns = policy_.settings().interval_ns,
                                    .window_start_ns = draw.window_start_ns,
                                    .window_ns = policy_.settings().window_ns,
                                    .seed = draw.seed,
                                    .policy = policy_.text(),
                                    .method = method,
                                    .collects = collects});
  if (!drawn) {
    return propagate(drawn);
  }
  auto made = std::make_unique<MadeDraw>(std::move(*drawn));
  const auto places = within_budget(draw, eligible.all, not_stopped(breaker_, *made), *made);
  set_windows(places, starts_of(draw, now_ns), draw.turns_seed, eligible.all, made->numbers,
              policy_.settings().safety, policy_.settings().late_after_ns, made->kept);
  return made;
}

std::vector<int64_t> Drawer::starts_of(const ScheduledDraw& draw, int64_t now_ns) const {
  std::vector<int64_t> starts_ns = policy_.turn_starts_ns(draw);
  const std::lock_guard lock(mutex_);
  const auto ordered = windows(/*of_orders_alone=*/true);
  std::erase_if(starts_ns, [&](int64_t start_ns) {
    const int64_t end_ns = start_ns + policy_.settings().window_ns;
    return start_ns < now_ns + policy_.settings().heartbeat_ns ||
           std::ranges::any_of(
               ordered,
               [&](const auto& window) {
                 return start_ns < window.second + kMinGapNs && window.first < end_ns + kMinGapNs;
               });
  });
  return starts_ns;
}

std::vector<size_t> Drawer::within_budget(const ScheduledDraw& draw, std::span<const Candidate> candidates,
                                          std::vector<size_t> places, MadeDraw& made) const {
  const size_t wanted = places.size();
  OverheadBudget::Answer answer =
      budget_.ask(std::move(places), candidates, draw.turns_seed, made.kept.draw.made_ns);
  if (!answer.may_not.empty()) {
    log_info("draw {}: {} of {} drawn machines are profiled: {}", draw.id, answer.may.size(), wanted,
             answer.why_not);
  }
  for (const size_t place : answer.may_not) {
    made.withhold(place, answer.why_not);
  }
  return std::move(answer.may);
}

bool Drawer::is_stopped(const OpenDraw& open, const store::DrawnMachine& machine) const {
  return breaker_.is_stopped({.event_set = store::event_set_of(open.draw.collects),
                              .daemon_version = machine.daemon_version,
                              .platform = machine.platform});
}

// Of kinds of application profiles, once its window is over.
Status Drawer::note_kinds(const OpenDraw& open, const wire::AssignmentReport& report,
                          store::DrawnMachine& machine) {
  const auto is_same = [](const wire::ApplicationKindReport& one, const wire::ApplicationKindReport& other) {
    return one.SerializeAsString() == other.SerializeAsString();
  };
  if (report.application_kinds().empty() ||
      std::ranges::equal(report.application_kinds(), machine.kinds, is_same)) {
    return {};
  }
  machine.kinds.assign(report.application_kinds().begin(), report.application_kinds().end());
  return store_.update_kinds(open.draw.id, machine);
}

Status Drawer::note_report(OpenDraw& open, const wire::AssignmentReport& report, store::DrawnMachine& machine,
                           int64_t now_ns) {
  // What matters of when it was heard of is whether that was after its window (store::outcome_of).
  const int64_t end_ns = store::window_end_ns(open.draw, machine);
  const bool is_first_since_end = now_ns >= end_ns && machine.reported_ns < end_ns;
  std::string detail = detail_of(report, open.draw.collects);
  const bool is_news = is_first_since_end || machine.state != report.state() || machine.detail != detail;
  machine.reported_ns = now_ns;
  machine.state = report.state();
  machine.detail = std::move(detail);
  if (auto kept = note_kinds(open, report, machine); !kept) {
    return kept;
  }
  return is_news ? store_.update(open.draw.id, machine) : Status();
}

// A daemon that crashed while it measured would crash again.
Status Drawer::note_silence(OpenDraw& open, store::DrawnMachine& machine, int64_t now_ns) {
  const bool may_have_begun = machine.told_ns > 0 && now_ns >= machine.window_start_ns;
  const bool is_held_back = machine.window_start_ns == 0;
  // Bursts may go on after the profile.
  const bool has_measured = machine.answered_ns > 0 && !open.draw.collects.has_bursts();
  if (!may_have_begun || is_held_back || is_over(machine.state) || has_measured) {
    return {};
  }
  machine.state = wire::FAILED;
  machine.detail = "the daemon does not have the assignment: it restarted, or the reply was lost";
  machine.reported_ns = now_ns;
  return store_.update(open.draw.id, machine);
}

Result<bool> Drawer::hand_out(OpenDraw& open, store::DrawnMachine& machine, int64_t now_ns) {
  const bool is_too_late = machine.told_ns == 0 && now_ns >= store::window_end_ns(open.draw, machine);
  if (machine.window_start_ns == 0 || is_over(machine.state) || is_too_late) {
    return false;
  }
  if (is_stopped(open, machine)) {
    // After the window bursts alone are recorded: the machine has measured.
    if (open.draw.collects.has_bursts() && now_ns >= store::window_end_ns(open.draw, machine)) {
      machine.state = wire::DONE;
      machine.detail = "bursts ended early: collection is stopped";
    } else {
      machine.window_start_ns = 0;
      machine.detail = "stopped before the window";
    }
    const Status kept = store_.update(open.draw.id, machine);
    return kept ? Result<bool>(false) : propagate(kept);
  }
  if (machine.told_ns == 0) {
    machine.told_ns = now_ns;
    if (auto kept = store_.update(open.draw.id, machine); !kept) {
      return propagate(kept);
    }
  }
  return true;
}

Result<std::vector<wire::Assignment>> Drawer::heard_from(std::string_view machine_id,
                                                         std::span<const wire::AssignmentReport> reports,
                                                         int64_t now_ns) {
  std::vector<wire::Assignment> assignments;
  const std::string id(machine_id);
  const std::lock_guard lock(mutex_);
  for (OpenDraw& open : open_) {
    const auto found = open.machines.find(id);
    if (found == open.machines.end() || now_ns >= open.until_ns) {
      continue;
    }
    store::DrawnMachine& machine = found->second;
    const auto report = std::ranges::find(reports, open.draw.id, &wire::AssignmentReport::id);
    const auto noted = report == reports.end() ? note_silence(open, machine, now_ns)
                                               : note_report(open, *report, machine, now_ns);
    const auto told = noted ? hand_out(open, machine, now_ns) : propagate(noted);
    if (!told) {
      return propagate(told);
    }
    if (!*told) {
      continue;
    }
    wire::Assignment& assignment = assignments.emplace_back(open.draw.collects);
    assignment.set_id(open.draw.id);
    assignment.set_start_ns(machine.window_start_ns);
    *assignment.mutable_draw() = store::wire_draw(open.draw, machine);
  }
  return assignments;
}

Result<std::optional<store::DrawnMachine>> Drawer::drawn(std::string_view draw, std::string_view machine_id) {
  const auto open = std::ranges::find(open_, draw, [](const OpenDraw& o) { return o.draw.id; });
  if (open == open_.end()) {
    return store_.machine(draw, machine_id);
  }
  const auto machine = open->machines.find(std::string(machine_id));
  return machine == open->machines.end() ? std::nullopt : std::optional(machine->second);
}

Status Drawer::keep(std::string_view draw, const store::DrawnMachine& machine) {
  const auto open = std::ranges::find(open_, draw, [](const OpenDraw& o) { return o.draw.id; });
  if (open != open_.end()) {
    open->machines.insert_or_assign(machine.machine_id, machine);
  }
  return store_.update(draw, machine);
}

Status Drawer::check(const wire::RawProfile& profile) {
  const wire::Draw& said = profile.assignment().draw();
  if (said.id().empty()) {
    return {};
  }
  const std::lock_guard lock(mutex_);
  const auto true_draw = store_.draw_of(said.id(), profile.machine().id());
  if (!true_draw) {
    return propagate(true_draw);
  }
  const std::optional<wire::Draw>& drawn = *true_draw;
  const bool is_so = drawn && drawn->SerializeAsString() == said.SerializeAsString();
  return is_so ? check_time(profile.window(), said)
               : with_field(fail(ErrorCode::kInvalid,
                                 "the profile's data on draw {} differs from what this server drew for {}",
                                 said.id(), profile.machine().id()),
                            "assignment.draw");
}

Status Drawer::check_bursts_of(std::string_view draw, std::string_view machine_id) {
  const std::lock_guard lock(mutex_);
  const auto found = drawn(draw, machine_id);
  if (!found) {
    return propagate(found);
  }
  const std::optional<store::DrawnMachine>& machine = *found;
  return machine && machine->told_ns > 0
             ? Status()
             : with_field(fail(ErrorCode::kInvalid, "the recording's draw {} did not assign bursts to {}",
                               draw, machine_id),
                          "draw");
}

Status Drawer::answered(std::string_view draw, std::string_view machine_id, int64_t window_ns, bool is_known,
                        int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  auto found = drawn(draw, machine_id);
  if (!found) {
    return propagate(found);
  }
  std::optional<store::DrawnMachine>& machine = *found;
  if (!machine || (is_known && machine->answered_ns != 0)) {
    return {};
  }
  machine->answered_ns = machine->answered_ns == 0 ? now_ns : machine->answered_ns;
  machine->observed_ns += std::max<int64_t>(0, window_ns);
  return keep(draw, *machine);
}

}  // namespace plimsoll::scheduler
