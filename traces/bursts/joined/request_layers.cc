#include "traces/bursts/joined/request_layers.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "traces/bursts/joined/application_rpcs.h"
#include "traces/bursts/joined/event_intervals.h"
#include "traces/bursts/joined/requests_of_threads.h"
#include "traces/bursts/marks/mark.h"

namespace plimsoll::traces {
namespace {

enum class Knowledge : uint8_t { kAlways, kWhereRecorded, kNever };

constexpr unsigned bit_of(LayerMeasure measure) {
  return 1U << static_cast<unsigned>(measure);
}
constexpr unsigned kHasCount = bit_of(LayerMeasure::kCount);
constexpr unsigned kHasNs = bit_of(LayerMeasure::kNs);
constexpr unsigned kHasBytes = bit_of(LayerMeasure::kBytes);
constexpr unsigned kHasAnswer = bit_of(LayerMeasure::kAnswerBytes);

struct LayerKind {
  std::string_view name;
  unsigned measures = 0;
  Knowledge knowledge = Knowledge::kAlways;
  BurstEventKind kind = BurstEventKind::kSwitch;  // that tells of it
};

// By RequestLayer.
constexpr std::array<LayerKind, kRequestLayers> kLayerKinds{{
    {"rpc_in", kHasCount | kHasNs | kHasBytes | kHasAnswer, Knowledge::kWhereRecorded,
     BurstEventKind::kRpcIn},
    {"rpc_out", kHasCount | kHasNs | kHasBytes | kHasAnswer, Knowledge::kWhereRecorded,
     BurstEventKind::kRpcOut},
    {"annotation", kHasCount, Knowledge::kWhereRecorded, BurstEventKind::kAnnotation},
    {"running", kHasCount | kHasNs, Knowledge::kAlways, BurstEventKind::kSwitch},
    {"running_user", kHasCount | kHasNs, Knowledge::kWhereRecorded, BurstEventKind::kSample},
    {"running_kernel", kHasCount | kHasNs, Knowledge::kWhereRecorded, BurstEventKind::kSample},
    {"runnable", kHasCount | kHasNs, Knowledge::kAlways, BurstEventKind::kSwitch},
    {"lock_wait", kHasCount | kHasNs, Knowledge::kAlways, BurstEventKind::kMarkCall},
    {"blocked_lock", kHasCount | kHasNs, Knowledge::kAlways, BurstEventKind::kMarkCall},
    {"blocked_disk", kHasCount | kHasNs, Knowledge::kWhereRecorded, BurstEventKind::kDiskIssue},
    {"blocked_rpc", kHasCount | kHasNs, Knowledge::kWhereRecorded, BurstEventKind::kRpcOut},
    {"blocked_other", kHasCount | kHasNs, Knowledge::kAlways, BurstEventKind::kSwitch},
    {"syscall", kHasCount | kHasNs, Knowledge::kWhereRecorded, BurstEventKind::kSyscallExit},
    {"disk", kHasCount | kHasNs | kHasBytes, Knowledge::kWhereRecorded, BurstEventKind::kDiskIssue},
    {"packet_sent", kHasCount | kHasBytes, Knowledge::kWhereRecorded, BurstEventKind::kPacketSent},
    {"packet_received", kHasCount | kHasBytes, Knowledge::kNever, BurstEventKind::kPacketReceived},
    {"fault", kHasCount, Knowledge::kWhereRecorded, BurstEventKind::kPageFault},
}};

const LayerKind& kind_of(RequestLayer layer) {
  return kLayerKinds[static_cast<size_t>(layer)];
}

// Whether one of the kind may have been there that was not seen: two events tell of a call, and of a request of a disk.
bool may_have_lost(const BurstRecording& recording, const Burst& burst, BurstEventKind kind) {
  if (is_of_application(kind)) {
    return recording.lost_application_events > 0;
  }
  const auto has_lost = [&](BurstEventKind one) { return burst.lost[static_cast<size_t>(one)] > 0; };
  return burst.unread_bytes > 0 || has_lost(kind) ||
         (kind == BurstEventKind::kSyscallExit && has_lost(BurstEventKind::kSyscallEnter)) ||
         (kind == BurstEventKind::kDiskIssue && has_lost(BurstEventKind::kDiskDone));
}

// A recording may lie: requests of disks may last for decades, any number of them.
int64_t bounded_sum(int64_t left, int64_t right) {
  int64_t sum = 0;
  return __builtin_add_overflow(left, right, &sum) ? INT64_MAX : sum;
}

void add_by_key(const auto& from, auto& to) {
  for (const auto& [key, amount] : from) {
    to[key].add(amount);
  }
}

// Times of threads in which something lasted: overlapping ones count once.
class TimesOfThreads {
 public:
  void add(uint32_t thread, int64_t begin_ns, int64_t end_ns) {
    if (begin_ns < end_ns) {
      times_[thread].emplace_back(begin_ns, end_ns);
    }
  }

  // Before covered_ns(), after the last add().
  void merge() {
    for (auto& [thread, times] : times_) {
      std::ranges::sort(times);
      std::vector<std::pair<int64_t, int64_t>> merged;
      for (const auto& [begin_ns, end_ns] : times) {
        if (!merged.empty() && begin_ns <= merged.back().second) {
          merged.back().second = std::max(merged.back().second, end_ns);
        } else {
          merged.emplace_back(begin_ns, end_ns);
        }
      }
      times = std::move(merged);
    }
  }

  int64_t covered_ns(const StateInterval& interval) const {
    const auto found = times_.find(interval.thread);
    if (found == times_.end()) {
      return 0;
    }
    auto time = std::ranges::upper_bound(found->second, interval.begin_ns, {},
                                         [](const auto& one) { return one.second; });
    int64_t covered_ns = 0;
    for (; time != found->second.end() && time->first < interval.end_ns; ++time) {
      covered_ns += std::min(time->second, interval.end_ns) - std::max(time->first, interval.begin_ns);
    }
    return covered_ns;
  }

 private:
  std::unordered_map<uint32_t, std::vector<std::pair<int64_t, int64_t>>> times_;
};

// The requests of one burst of one machine.
class LayersOfMachine {
 public:
  LayersOfMachine(const BurstRecording& recording, const Burst& burst, const JoinedBurst& joined)
      : recording_(recording), burst_(burst), joined_(joined), threads_(joined) {}

  std::vector<RequestLayers> run(const RecordedKinds& recorded) {
    for (const RequestTimes& times : request_times(burst_, joined_)) {
      places_[times.request] = layers_.size();
      layers_.emplace_back();
      layers_.back().times = times;
    }
    add_marked();
    add_disks();
    add_rpcs();
    add_states();
    add_calls();
    add_events();
    add_samples();
    for (RequestLayers& one : layers_) {
      tell_what_is_known(one, recorded);
    }
    return std::move(layers_);
  }

 private:
  RequestLayers* find(uint64_t request) {
    const auto found = places_.find(request);
    return found == places_.end() ? nullptr : &layers_[found->second];
  }

  void add(uint64_t request, RequestLayer layer, const LayerAmount& amount) {
    if (RequestLayers* const one = find(request)) {
      one->of(layer).add(amount);
    }
  }

  // Time of a thread, for each request that it works for meanwhile; it counts for the one of `counted_ns`.
  template <typename AmountOf>
  void add_interval(const EventInterval& interval, int64_t counted_ns, const AmountOf& amount_of) {
    if (RequestLayers* const one = find(threads_.at(interval.thread, counted_ns))) {
      amount_of(*one, LayerAmount{.count = 1});
    }
    threads_.for_each_part(interval.thread, interval.begin_ns, interval.end_ns,
                           [&](uint64_t request, int64_t ns) {
                             if (RequestLayers* const one = find(request)) {
                               amount_of(*one, LayerAmount{.ns = ns});
                             }
                           });
  }

  void add_marked() {
    const MarkedIntervals marked = marked_intervals(burst_, joined_);
    for (const EventInterval& wait : marked.lock_waits) {
      for (TimesOfThreads* const waits : {&locks_, &locks_disks_, &locks_disks_rpcs_}) {
        waits->add(wait.thread, wait.begin_ns, wait.end_ns);
      }
      add_interval(wait, wait.begin_ns, [](RequestLayers& one, const LayerAmount& amount) {
        one.of(RequestLayer::kLockWait).add(amount);
      });
    }
    for (const EventInterval& phase : marked.phases) {
      const std::string name = phase_name(phase.value);
      add_interval(phase, phase.begin_ns,
                   [&](RequestLayers& one, const LayerAmount& amount) { one.phases[name].add(amount); });
    }
  }

  void add_disks() {
    for (const EventInterval& disk : disk_requests(burst_)) {
      for (TimesOfThreads* const waits : {&locks_disks_, &locks_disks_rpcs_}) {
        waits->add(disk.thread, disk.begin_ns, disk.end_ns);
      }
      add(threads_.at(disk.thread, disk.begin_ns), RequestLayer::kDisk,
          {.count = 1, .ns = disk.end_ns - disk.begin_ns, .bytes = disk.value});
    }
  }

  uint64_t request_told(uint64_t detail, uint32_t thread, int64_t time_ns) const {
    const uint64_t told = recording_.details[detail].request;
    return told != 0 ? told : threads_.at(thread, time_ns);
  }

  void add_rpcs() {
    for (const ApplicationRpc& rpc : application_rpcs(recording_, burst_)) {
      const uint64_t request = request_told(rpc.detail, rpc.thread, rpc.begin_ns);
      const int64_t end_ns = end_of(rpc, request);
      if (!rpc.is_in) {
        locks_disks_rpcs_.add(rpc.thread, rpc.begin_ns, end_ns);
      }
      add(request, rpc.is_in ? RequestLayer::kRpcIn : RequestLayer::kRpcOut,
          {.count = 1,
           .ns = end_ns - rpc.begin_ns,
           .bytes = rpc.request_bytes,
           .answer_bytes = rpc.answer_bytes,
           .knows_answers = rpc.is_whole});
    }
  }

  // Applications forget ends where something fails: that must not last until the burst's end, for whatever request comes then.
  int64_t end_of(const ApplicationRpc& rpc, uint64_t request) {
    const RequestLayers* const one = rpc.is_whole ? nullptr : find(request);
    return one == nullptr ? rpc.end_ns : std::max(rpc.begin_ns, std::min(rpc.end_ns, one->times.end_ns));
  }

  void add_states() {
    for (TimesOfThreads* const waits : {&locks_, &locks_disks_, &locks_disks_rpcs_}) {
      waits->merge();
    }
    for (const StateInterval& interval : joined_.intervals) {
      if (interval.request == 0) {
        continue;
      }
      const int64_t ns = interval.end_ns - interval.begin_ns;
      switch (interval.state) {
        case ThreadState::kRunning:
          add(interval.request, RequestLayer::kRunning, {.count = 1, .ns = ns});
          break;
        case ThreadState::kRunnable:
          add(interval.request, RequestLayer::kRunnable, {.count = 1, .ns = ns});
          break;
        case ThreadState::kBlocked:
          add_blocked(interval, ns);
          break;
      }
    }
  }

  void add_blocked(const StateInterval& interval, int64_t ns) {
    const int64_t by_lock_ns = locks_.covered_ns(interval);
    const int64_t by_disk_too_ns = locks_disks_.covered_ns(interval);
    const int64_t by_rpc_too_ns = locks_disks_rpcs_.covered_ns(interval);
    const auto add_cause = [&](RequestLayer layer, int64_t by_it_ns) {
      if (by_it_ns > 0) {
        add(interval.request, layer, {.count = 1, .ns = by_it_ns});
      }
    };
    add_cause(RequestLayer::kBlockedLock, by_lock_ns);
    add_cause(RequestLayer::kBlockedDisk, by_disk_too_ns - by_lock_ns);
    add_cause(RequestLayer::kBlockedRpc, by_rpc_too_ns - by_disk_too_ns);
    add_cause(RequestLayer::kBlockedOther, ns - by_rpc_too_ns);
  }

  void add_calls() {
    // As searches have it, by its end: a thread that waits for work has no request when it begins to wait.
    for (const EventInterval& call : system_calls(burst_)) {
      add_interval(call, call.end_ns, [&](RequestLayers& one, const LayerAmount& amount) {
        one.of(RequestLayer::kSystemCall).add(amount);
        one.system_calls[call.value].add(amount);
      });
    }
  }

  void add_events() {
    for (const BurstEvent& event : burst_.events) {
      if (event.kind == BurstEventKind::kPageFault) {
        add(threads_.at(event.thread, event.time_ns), RequestLayer::kPageFault, {.count = 1});
      } else if (event.kind == BurstEventKind::kPacketSent) {
        add(threads_.at(event.thread, event.time_ns), RequestLayer::kPacketSent,
            {.count = 1, .bytes = event.first});
      } else if (event.kind == BurstEventKind::kAnnotation && burst_.on_ns <= event.time_ns &&
                 event.time_ns <= burst_.off_ns) {
        add(request_told(event.second, event.thread, event.time_ns), RequestLayer::kAnnotation, {.count = 1});
      }
    }
  }

  void add_samples() {
    const BurstStacks& stacks = recording_.stacks;
    for (const JoinedSample& sample : joined_.samples) {
      if (sample.stack != 0) {
        const BurstFrame& innermost = stacks.frames[stacks.nodes[sample.stack - 1].frame];
        add(sample.request,
            innermost.kind == BurstAddressKind::kKernel ? RequestLayer::kRunningKernel
                                                        : RequestLayer::kRunningUser,
            {.count = 1});
      }
    }
    for (RequestLayers& one : layers_) {
      LayerAmount& user = one.of(RequestLayer::kRunningUser);
      LayerAmount& kernel = one.of(RequestLayer::kRunningKernel);
      const int64_t running_ns = one.of(RequestLayer::kRunning).ns;
      const uint64_t samples = user.count + kernel.count;
      if (samples > 0) {
        kernel.ns = static_cast<int64_t>(static_cast<double>(running_ns) * static_cast<double>(kernel.count) /
                                         static_cast<double>(samples));
        user.ns = running_ns - kernel.ns;
      }
    }
  }

  void tell_what_is_known(RequestLayers& one, const RecordedKinds& recorded) const {
    for (size_t i = 0; i < kRequestLayers; ++i) {
      const LayerKind& layer = kLayerKinds[i];
      // Where events were lost, none that was seen need not mean none.
      const bool is_recorded = recorded[static_cast<size_t>(layer.kind)] &&
                               (one.layers[i].count > 0 || !may_have_lost(recording_, burst_, layer.kind));
      one.layers[i].is_known = layer.knowledge == Knowledge::kAlways ||
                               (layer.knowledge == Knowledge::kWhereRecorded && is_recorded);
    }
    LayerAmount& user = one.of(RequestLayer::kRunningUser);
    LayerAmount& kernel = one.of(RequestLayer::kRunningKernel);
    user.is_known = user.count + kernel.count > 0;
    kernel.is_known = user.is_known;
  }

  const BurstRecording& recording_;
  const Burst& burst_;
  const JoinedBurst& joined_;
  const RequestsOfThreads threads_;
  std::vector<RequestLayers> layers_;
  std::unordered_map<uint64_t, size_t> places_;  // in layers_, by request
  // Each has the causes before it, too: of a wait with two causes the first one counts.
  TimesOfThreads locks_;
  TimesOfThreads locks_disks_;
  TimesOfThreads locks_disks_rpcs_;
};

// Of the machines of a request, in one burst.
RequestLayers sum_of(const std::vector<MachineLayers>& machines) {
  RequestLayers sum;
  RequestTimes& times = sum.times;
  times.is_whole = true;
  for (const MachineLayers& machine : machines) {
    const RequestLayers& one = machine.layers;
    const int64_t begin_ns = one.times.begin_ns + machine.offset_ns;
    const int64_t end_ns = one.times.end_ns + machine.offset_ns;
    const bool is_first = &machine == &machines.front();
    times.request = one.times.request;
    times.begin_ns = is_first ? begin_ns : std::min(times.begin_ns, begin_ns);
    times.end_ns = is_first ? end_ns : std::max(times.end_ns, end_ns);
    times.is_whole = times.is_whole && one.times.is_whole;
    times.threads += one.times.threads;
    for (size_t state = 0; state < kThreadStates; ++state) {
      times.ns[state] = bounded_sum(times.ns[state], one.times.ns[state]);
    }
    for (size_t layer = 0; layer < kRequestLayers; ++layer) {
      sum.layers[layer].add(one.layers[layer]);
    }
    add_by_key(one.system_calls, sum.system_calls);
    add_by_key(one.phases, sum.phases);
  }
  return sum;
}

// Two recordings of a machine that went on at once have the same part of a request; after a clock was set back they have different ones.
bool is_same_part(const MachineLayers& left, const MachineLayers& right) {
  const RequestTimes& a = left.layers.times;
  const RequestTimes& b = right.layers.times;
  return left.machine == right.machine && a.begin_ns <= b.end_ns && b.begin_ns <= a.end_ns;
}

}  // namespace

std::string_view name_of(RequestLayer layer) {
  return kind_of(layer).name;
}

std::string_view name_of(LayerMeasure measure) {
  constexpr std::array<std::string_view, kLayerMeasures> kNames{"count", "ns", "bytes", "answer_bytes"};
  return kNames[static_cast<size_t>(measure)];
}

bool has_measure(RequestLayer layer, LayerMeasure measure) {
  return (kind_of(layer).measures & bit_of(measure)) != 0;
}

void LayerAmount::add(const LayerAmount& other) {
  is_known = is_known && other.is_known;
  count += other.count;
  ns = bounded_sum(ns, other.ns);
  bytes += other.bytes;
  answer_bytes += other.answer_bytes;
  knows_answers = knows_answers && other.knows_answers;
}

uint64_t LayerAmount::value(LayerMeasure measure) const {
  const std::array<uint64_t, kLayerMeasures> values{count, static_cast<uint64_t>(ns), bytes, answer_bytes};
  return values[static_cast<size_t>(measure)];
}

RecordedKinds recorded_kinds(const BurstRecording& recording) {
  RecordedKinds kinds{};
  for (const Burst& burst : recording.bursts) {
    for (size_t kind = 0; kind < kBurstEventKinds; ++kind) {
      kinds[kind] = kinds[kind] || burst.lost[kind] > 0;
    }
    for (const BurstEvent& event : burst.events) {
      kinds[static_cast<size_t>(event.kind)] = true;
    }
  }
  // One setting for all that applications tell.
  const bool has_told = !recording.details.empty() || recording.lost_application_events > 0;
  for (size_t kind = 0; kind < kBurstEventKinds; ++kind) {
    kinds[kind] = is_of_application(static_cast<BurstEventKind>(kind)) ? has_told : kinds[kind];
  }
  return kinds;
}

void RequestLayering::add(const BurstRecording& recording, const Burst& burst, const JoinedBurst& joined,
                          const RecordedKinds& recorded, int64_t offset_ns) {
  for (RequestLayers& one : LayersOfMachine(recording, burst, joined).run(recorded)) {
    std::vector<MachineLayers>& machines = requests_[one.times.request].machines;
    MachineLayers part{.machine = recording.machine,
                       .offset_ns = offset_ns,
                       .lost_events = burst.all_lost(),
                       .lost_app_events = recording.lost_application_events,
                       .layers = std::move(one)};
    const auto same = std::ranges::find_if(
        machines, [&](const MachineLayers& before) { return is_same_part(before, part); });
    if (same == machines.end()) {
      machines.push_back(std::move(part));
    } else if (part.layers.times.is_whole && !same->layers.times.is_whole) {
      *same = std::move(part);
    }
  }
}

std::vector<LayeredRequest> RequestLayering::finish() {
  std::vector<LayeredRequest> requests;
  requests.reserve(requests_.size());
  for (auto& [id, request] : requests_) {
    request.sum = sum_of(request.machines);
    requests.push_back(std::move(request));
  }
  requests_.clear();
  std::ranges::sort(requests, {}, [](const LayeredRequest& one) {
    return std::tuple(one.sum.times.begin_ns, one.sum.times.request);
  });
  return requests;
}

}  // namespace plimsoll::traces
