#include "traces/bursts/search/scene.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "traces/bursts/joined/event_intervals.h"
#include "traces/bursts/joined/requests_of_threads.h"

namespace plimsoll::traces {
namespace {

constexpr size_t index_of(ItemKind kind) {
  return static_cast<size_t>(kind);
}

// Of an event that is an item by itself.
std::optional<ItemKind> kind_of_event(const BurstEvent& event) {
  switch (event.kind) {
    case BurstEventKind::kPageFault:
      return ItemKind::kFault;
    case BurstEventKind::kWake:
    case BurstEventKind::kNewThread:
      // An interrupt wakes on whatever thread it came upon.
      return event.first == 0 ? std::optional(ItemKind::kWake) : std::nullopt;
    case BurstEventKind::kPacketSent:
      return ItemKind::kPacketSent;
    case BurstEventKind::kPacketReceived:
      return ItemKind::kPacketReceived;
    case BurstEventKind::kSample:
      return ItemKind::kSample;
    case BurstEventKind::kSwitch:
    case BurstEventKind::kMarkCall:
    case BurstEventKind::kSyscallEnter:
    case BurstEventKind::kSyscallExit:
    case BurstEventKind::kDiskIssue:
    case BurstEventKind::kDiskDone:
    case BurstEventKind::kRpcIn:
    case BurstEventKind::kRpcOut:
    case BurstEventKind::kRpcEnd:
    case BurstEventKind::kAnnotation:
    case BurstEventKind::kNamedPhase:
      break;
  }
  return std::nullopt;
}

class SceneMaker {
 public:
  SceneMaker(const std::vector<SceneMachine>& machines, const SearchSpans* spans, ItemKinds kinds)
      : kinds_(kinds) {
    scene_.machines = machines;
    scene_.spans = spans;
  }

  SearchScene run() {
    bool is_first = true;
    for (uint32_t machine = 0; machine < scene_.machines.size(); ++machine) {
      const SceneMachine& part = scene_.machines[machine];
      scene_.machine_names.push_back(part.recording->machine);
      const int64_t begin_ns = part.burst->on_ns + part.offset_ns();
      const int64_t end_ns = part.burst->off_ns + part.offset_ns();
      scene_.begin_ns = is_first ? begin_ns : std::min(scene_.begin_ns, begin_ns);
      scene_.end_ns = is_first ? end_ns : std::max(scene_.end_ns, end_ns);
      is_first = false;
      add_machine(machine);
    }
    if (scene_.spans != nullptr && (wants(ItemKind::kRpc) || wants(ItemKind::kSpan))) {
      add_spans();
    }
    for (std::vector<SearchItem>& items : scene_.items) {
      const auto rest = [](const SearchItem& item) {
        return std::tuple(item.end_ns, item.machine, item.thread, item.request, item.detail, item.value);
      };
      std::ranges::sort(items, [&](const SearchItem& left, const SearchItem& right) {
        return left.begin_ns != right.begin_ns ? left.begin_ns < right.begin_ns : rest(left) < rest(right);
      });
    }
    return std::move(scene_);
  }

 private:
  bool wants(ItemKind kind) const { return (kinds_ & kinds_of(kind)) != 0; }
  std::vector<SearchItem>& items(ItemKind kind) { return scene_.items[index_of(kind)]; }

  void add_machine(uint32_t machine) {
    constexpr ItemKinds kOfSpans = kinds_of(ItemKind::kRpc) | kinds_of(ItemKind::kSpan);
    const SceneMachine& part = scene_.machines[machine];
    const bool wants_told =
        (wants(ItemKind::kRpc) || wants(ItemKind::kAnnotation)) && !part.recording->details.empty();
    if ((kinds_ & ~kOfSpans) == 0 && !wants_told) {
      return;
    }
    const JoinedBurst joined = join_burst(*part.burst);
    std::vector<SearchItem> blocked;
    const bool wants_holds = wants(ItemKind::kLockHold);
    for (const StateInterval& interval : joined.intervals) {
      const auto kind =
          static_cast<ItemKind>(index_of(ItemKind::kRunning) + static_cast<size_t>(interval.state));
      const bool is_for_holds = wants_holds && kind == ItemKind::kBlocked;
      if (!wants(kind) && !is_for_holds) {
        continue;
      }
      const SearchItem item{.begin_ns = interval.begin_ns + part.offset_ns(),
                            .end_ns = interval.end_ns + part.offset_ns(),
                            .request = interval.request,
                            .value = 0,
                            .machine = machine,
                            .thread = interval.thread,
                            .other = interval.waker,
                            .detail = 0,
                            .cpu = interval.cpu};
      if (is_for_holds) {
        blocked.push_back(item);
      }
      if (wants(kind)) {
        items(kind).push_back(item);
      }
    }
    if (wants(ItemKind::kRequest)) {
      add_requests(machine, joined);
    }
    if (wants(ItemKind::kLockWait) || wants_holds || wants(ItemKind::kPhase)) {
      add_marks(machine, joined, std::move(blocked));
    }
    if (wants(ItemKind::kSyscall) || wants(ItemKind::kFault) || wants(ItemKind::kWake) ||
        wants(ItemKind::kDisk) || wants(ItemKind::kPacketSent) || wants(ItemKind::kPacketReceived) ||
        wants(ItemKind::kSample)) {
      add_events(machine, joined);
    }
    if (wants_told) {
      add_told(machine, joined);
    }
  }

  // What applications tell of, for the request that they say, else for that which marks say.
  void add_told(uint32_t machine, const JoinedBurst& joined) {
    const SceneMachine& part = scene_.machines[machine];
    const RequestsOfThreads requests(joined);
    const auto item_of = [&](uint32_t thread, int64_t begin_ns, int64_t end_ns, uint64_t detail) {
      const uint64_t request = part.recording->details[detail].request;
      return SearchItem{.begin_ns = begin_ns + part.offset_ns(),
                        .end_ns = end_ns + part.offset_ns(),
                        .request = request != 0 ? request : requests.at(thread, begin_ns),
                        .value = 0,
                        .machine = machine,
                        .thread = thread,
                        .other = kNoThread,
                        .detail = static_cast<uint32_t>(detail),
                        .cpu = 0};
    };
    if (wants(ItemKind::kRpc)) {
      for (const ApplicationRpc& rpc : application_rpcs(*part.recording, *part.burst)) {
        SearchItem item = item_of(rpc.thread, rpc.begin_ns, rpc.end_ns, rpc.detail);
        item.detail = static_cast<uint32_t>(scene_.application_rpcs.size());
        scene_.application_rpcs.push_back(rpc);
        items(ItemKind::kRpc).push_back(item);
      }
    }
    for (const BurstEvent& event : part.burst->events) {
      if (wants(ItemKind::kAnnotation) && event.kind == BurstEventKind::kAnnotation) {
        SearchItem item = item_of(event.thread, event.time_ns, event.time_ns, event.second);
        item.value = event.first;
        items(ItemKind::kAnnotation).push_back(item);
      }
    }
  }

  void add_requests(uint32_t machine, const JoinedBurst& joined) {
    const SceneMachine& part = scene_.machines[machine];
    for (const RequestTimes& times : request_times(*part.burst, joined)) {
      items(ItemKind::kRequest)
          .push_back({.begin_ns = times.begin_ns + part.offset_ns(),
                      .end_ns = times.end_ns + part.offset_ns(),
                      .request = times.request,
                      .value = 0,
                      .machine = machine,
                      .thread = kNoThread,
                      .other = kNoThread,
                      .detail = static_cast<uint32_t>(scene_.requests.size()),
                      .cpu = 0});
      scene_.requests.push_back(times);
    }
  }

  // On the wall clock.
  std::vector<SearchItem> items_of(uint32_t machine, const std::vector<EventInterval>& intervals) const {
    const int64_t offset_ns = scene_.machines[machine].offset_ns();
    std::vector<SearchItem> made;
    made.reserve(intervals.size());
    for (const EventInterval& interval : intervals) {
      made.push_back({.begin_ns = interval.begin_ns + offset_ns,
                      .end_ns = interval.end_ns + offset_ns,
                      .request = 0,
                      .value = interval.value,
                      .machine = machine,
                      .thread = interval.thread,
                      .other = kNoThread,
                      .detail = 0,
                      .cpu = interval.cpu});
    }
    return made;
  }

  void add_marks(uint32_t machine, const JoinedBurst& joined, std::vector<SearchItem> blocked) {
    const SceneMachine& part = scene_.machines[machine];
    const MarkedIntervals marked = marked_intervals(*part.burst, joined);
    std::vector<SearchItem> waits = items_of(machine, marked.lock_waits);
    std::vector<SearchItem> phases = items_of(machine, marked.phases);
    // As join_burst() says it: also before a thread's first mark, and after another thread has stopped the request.
    const RequestsOfThreads requests(joined);
    const auto request_at = [&](uint32_t thread, int64_t wall_ns) {
      return requests.at(thread,
                         std::clamp(wall_ns - part.offset_ns(), part.burst->on_ns, part.burst->off_ns));
    };
    const auto append = [&](ItemKind kind, const std::vector<SearchItem>& made) {
      if (wants(kind)) {
        items(kind).insert(items(kind).end(), made.begin(), made.end());
      }
    };
    for (std::vector<SearchItem>* const made : {&waits, &phases}) {
      for (SearchItem& item : *made) {
        item.request = request_at(item.thread, item.begin_ns);
      }
    }
    if (wants(ItemKind::kLockHold)) {
      const auto by_thread = [](const SearchItem& one) { return std::tuple(one.thread, one.begin_ns); };
      std::ranges::sort(waits, {}, by_thread);
      std::ranges::sort(blocked, {}, by_thread);
      auto holds = lock_holds(waits, blocked, joined, part.offset_ns());
      for (SearchItem& hold : holds) {
        hold.request = request_at(hold.thread, hold.end_ns);
      }
      append(ItemKind::kLockHold, holds);
    }
    append(ItemKind::kLockWait, waits);
    append(ItemKind::kPhase, phases);
  }

  void add_events(uint32_t machine, const JoinedBurst& joined) {
    const SceneMachine& part = scene_.machines[machine];
    const RequestsOfThreads requests(joined);
    add_calls_and_disks(machine, requests);
    for (const BurstEvent& event : part.burst->events) {
      const auto kind = kind_of_event(event);
      if (!kind || !wants(*kind)) {
        continue;
      }
      // A packet that has come does not say which request it is for, and it comes on whatever thread ran.
      const bool has_request = *kind != ItemKind::kPacketReceived;
      items(*kind).push_back({.begin_ns = event.time_ns + part.offset_ns(),
                              .end_ns = event.time_ns + part.offset_ns(),
                              .request = has_request ? requests.at(event.thread, event.time_ns) : 0,
                              .value = event.first,
                              .machine = machine,
                              .thread = event.thread,
                              .other = *kind == ItemKind::kWake ? event.other : kNoThread,
                              .detail = 0,
                              .cpu = event.cpu});
    }
  }

  void add_calls_and_disks(uint32_t machine, const RequestsOfThreads& requests) {
    const SceneMachine& part = scene_.machines[machine];
    if (wants(ItemKind::kSyscall)) {
      for (SearchItem& call : items_of(machine, system_calls(*part.burst))) {
        call.request = requests.at(call.thread, call.end_ns - part.offset_ns());
        items(ItemKind::kSyscall).push_back(call);
      }
    }
    if (wants(ItemKind::kDisk)) {
      // Of the thread that issued it: the interrupt came upon any.
      for (SearchItem& disk : items_of(machine, disk_requests(*part.burst))) {
        disk.request = requests.at(disk.thread, disk.begin_ns - part.offset_ns());
        items(ItemKind::kDisk).push_back(disk);
      }
    }
  }

  // On the clock of the machine that timed them. Of a machine without a recording: as they are.
  void add_spans() {
    const SearchSpans& spans = *scene_.spans;
    const NameTable& names = spans.set().names().machines;
    std::vector<uint32_t> machine_of(names.size());
    std::vector<int64_t> shift_of(names.size(), 0);
    int64_t max_shift_ns = 0;
    const std::vector<uint32_t> recorded = recorded_machines(scene_.machines, names);
    for (uint32_t id = 0; id < names.size(); ++id) {
      if (recorded[id] == kNoMachine) {
        machine_of[id] = static_cast<uint32_t>(scene_.machine_names.size());
        scene_.machine_names.emplace_back(names.name(id));
      } else {
        machine_of[id] = recorded[id];
        shift_of[id] = scene_.machines[recorded[id]].shift_ns;
        max_shift_ns = std::max(max_shift_ns, std::abs(shift_of[id]));
      }
    }
    const auto add = [&](ItemKind kind, uint32_t index, uint32_t detail) {
      const Span& span = spans.span(index);
      const int64_t shift_ns = shift_of[span.machine];
      if (span.end_ns + shift_ns < scene_.begin_ns || span.start_ns + shift_ns > scene_.end_ns) {
        return;
      }
      items(kind).push_back({.begin_ns = span.start_ns + shift_ns,
                             .end_ns = span.end_ns + shift_ns,
                             .request = span.trace.low,
                             .value = 0,
                             .machine = machine_of[span.machine],
                             .thread = kNoThread,
                             .other = kNoThread,
                             .detail = detail,
                             .cpu = 0});
    };
    // Spans are from 1970 to 2116. A hostile recording may not be: sums must not overflow.
    constexpr int64_t kMaxSpanNs = int64_t{1} << 62;
    const int64_t first_ns = std::max<int64_t>(scene_.begin_ns, 0) - max_shift_ns - spans.max_duration_ns();
    const int64_t last_ns = std::min(scene_.end_ns, kMaxSpanNs) + max_shift_ns;
    // Those that start within these times, of a row by start.
    const auto add_between = [&](ItemKind kind, const std::vector<uint32_t>& row, const auto& span_of) {
      const auto start_of = [&](uint32_t entry) { return spans.span(span_of(entry)).start_ns; };
      const auto first = std::ranges::lower_bound(row, first_ns, {}, start_of);
      for (auto entry = first; wants(kind) && entry != row.end() && start_of(*entry) <= last_ns; ++entry) {
        add(kind, span_of(*entry), *entry);
      }
    };
    add_between(ItemKind::kSpan, spans.by_start(), [](uint32_t span) { return span; });
    add_between(ItemKind::kRpc, spans.rpcs_by_start(),
                [&](uint32_t rpc) { return spans.rpcs()[rpc].first(); });
  }

  SearchScene scene_;
  ItemKinds kinds_;
};

}  // namespace

std::vector<uint32_t> recorded_machines(const std::vector<SceneMachine>& machines, const NameTable& names) {
  std::unordered_map<std::string_view, uint32_t> recorded;
  for (uint32_t machine = 0; machine < machines.size(); ++machine) {
    recorded.try_emplace(machines[machine].recording->machine, machine);
  }
  std::vector<uint32_t> of_names(names.size(), kNoMachine);
  // Spans without a machine are of none, also where a recording has no name.
  for (uint32_t id = 1; id < names.size(); ++id) {
    if (const auto found = recorded.find(names.name(id)); found != recorded.end()) {
      of_names[id] = found->second;
    }
  }
  return of_names;
}

std::vector<SearchItem> lock_holds(const std::vector<SearchItem>& waits,
                                   const std::vector<SearchItem>& blocked, const JoinedBurst& joined,
                                   int64_t offset_ns) {
  std::map<std::pair<uint32_t, uint64_t>, std::vector<int64_t>> got;  // by thread and lock
  for (const Mark& mark : joined.marks) {
    if (mark.kind == MarkKind::kLockGot) {
      got[{mark.tid, mark.value}].push_back(mark.time_ns + offset_ns);
    }
  }
  std::vector<SearchItem> holds;
  for (const SearchItem& wait : waits) {
    // The last time that the thread was woken within the wait.
    const auto after =
        std::ranges::upper_bound(blocked, std::pair(wait.thread, wait.end_ns), {},
                                 [](const SearchItem& one) { return std::pair(one.thread, one.begin_ns); });
    if (after == blocked.begin()) {
      continue;
    }
    const SearchItem& last = *std::prev(after);
    if (last.thread != wait.thread || last.begin_ns < wait.begin_ns || last.end_ns > wait.end_ns ||
        last.other == kNoThread) {
      continue;
    }
    SearchItem hold = wait;
    hold.thread = last.other;
    hold.other = wait.thread;
    hold.request = 0;
    hold.end_ns = last.end_ns;
    if (const auto found = got.find({hold.thread, hold.value}); found != got.end()) {
      const auto later = std::ranges::upper_bound(found->second, hold.end_ns);
      hold.begin_ns = later == found->second.begin() ? hold.begin_ns : *std::prev(later);
    }
    holds.push_back(hold);
  }
  const auto key = [](const SearchItem& one) { return std::tuple(one.thread, one.value, one.begin_ns); };
  std::ranges::sort(holds, {},
                    [&](const SearchItem& one) { return std::tuple_cat(key(one), std::tuple(-one.end_ns)); });
  const auto rest = std::ranges::unique(holds, {}, key);
  holds.erase(rest.begin(), rest.end());
  return holds;
}

SearchScene make_scene(const std::vector<SceneMachine>& machines, const SearchSpans* spans, ItemKinds kinds) {
  return SceneMaker(machines, spans, kinds).run();
}

}  // namespace plimsoll::traces
