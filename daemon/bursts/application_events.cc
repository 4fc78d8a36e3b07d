#include "daemon/bursts/application_events.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/sort_stably.h"

namespace plimsoll::bursts {
namespace {

using traces::BurstEventKind;

constexpr std::string_view kMagicOfAnswer = "PLIMAEV1";
constexpr uint32_t kRecordBytes = 120;
constexpr size_t kMaxTextBytes = 48;
constexpr size_t kMaxPeerBytes = 32;
constexpr uint64_t kMaxSequence = uint64_t{1}
                                  << 48;  // a million events a second for years: sums do not overflow

std::optional<BurstEventKind> kind_of(uint8_t kind) {
  constexpr auto kFirst = static_cast<uint8_t>(BurstEventKind::kRpcIn);
  constexpr uint8_t kKinds = 5;
  return kind >= 1 && kind <= kKinds ? std::optional(static_cast<BurstEventKind>(kFirst + kind - 1))
                                     : std::nullopt;
}

std::optional<ApplicationEvent> read_record(ByteReader& in) {
  ApplicationEvent event;
  event.time_ns = in.read<int64_t>();
  event.request = in.read<uint64_t>();
  event.number = in.read<uint64_t>();
  event.call = in.read<uint64_t>();
  event.tid = in.read<uint32_t>();
  const auto kind = kind_of(in.read<uint8_t>());
  const auto text_bytes = in.read<uint8_t>();
  const auto peer_bytes = in.read<uint8_t>();
  const auto reserved = in.read<uint8_t>();
  const std::string_view text = as_text(in.bytes(kMaxTextBytes));
  const std::string_view peer = as_text(in.bytes(kMaxPeerBytes));
  if (!in.ok() || !kind || text_bytes > kMaxTextBytes || peer_bytes > kMaxPeerBytes || reserved != 0) {
    return std::nullopt;
  }
  event.kind = *kind;
  event.text = text.substr(0, text_bytes);
  event.peer = peer.substr(0, peer_bytes);
  return event;
}

// The numbers of a thread in the PID namespace of /proc and those nested in it.
std::vector<uint32_t> numbers_of(const identity::ProcFs& proc_fs, uint32_t tid) {
  constexpr std::string_view kLine = "\nNSpid:";
  const auto status = proc_fs.status(tid);
  const size_t at = status ? status->find(kLine) : std::string::npos;
  std::vector<uint32_t> numbers;
  if (at == std::string::npos) {
    return numbers;
  }
  std::string_view rest = std::string_view(*status).substr(at + kLine.size());
  rest = rest.substr(0, rest.find('\n'));
  while (!rest.empty()) {
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error == std::errc()) {
      numbers.push_back(number);
    }
    // A tab, or what is no number.
    rest.remove_prefix(std::max<size_t>(static_cast<size_t>(end - rest.data()), 1));
  }
  return numbers;
}

// Puts events into one burst after the other.
class ApplicationEventAdder {
 public:
  explicit ApplicationEventAdder(traces::BurstRecording& recording) : recording_(recording) {
    if (recording_.texts.empty()) {
      recording_.texts.emplace_back();
    }
    for (uint32_t i = 0; i < recording_.texts.size(); ++i) {
      texts_.emplace(recording_.texts[i], i);
    }
  }

  // Returns how many it took. The events are in the order of time.
  size_t add(std::vector<ApplicationEvent>::iterator first, std::vector<ApplicationEvent>::iterator last,
             traces::Burst& burst) {
    // Within a burst an ID is one thread.
    std::unordered_map<uint32_t, uint32_t> threads;
    for (const traces::BurstEvent& event : burst.events) {
      threads.try_emplace(recording_.threads[event.thread].tid, event.thread);
      threads.try_emplace(recording_.threads[event.other].tid, event.other);
    }
    size_t taken = 0;
    for (; first != last; ++first) {
      const auto thread = thread_of(*first, threads);
      if (!thread) {
        continue;
      }
      burst.events.push_back({.time_ns = first->time_ns,
                              .first = first->number,
                              .second = recording_.details.size(),
                              .thread = *thread,
                              .other = 0,
                              .cpu = 0,
                              .kind = first->kind});
      recording_.details.push_back({.request = first->request,
                                    .call = first->call,
                                    .text = text_of(first->text),
                                    .peer = text_of(first->peer)});
      ++taken;
    }
    sort_stably(burst.events, [](const traces::BurstEvent& event) { return event.time_ns; });
    return taken;
  }

 private:
  std::optional<uint32_t> thread_of(const ApplicationEvent& event,
                                    const std::unordered_map<uint32_t, uint32_t>& threads) {
    if (const auto found = threads.find(event.tid); found != threads.end()) {
      traces::BurstThread& thread = recording_.threads[found->second];
      // Calls of RPCs are numbered by process: their begin and end would not find each other without it.
      if (thread.pid == 0 && thread.tid != 0 && event.is_known) {
        thread.pid = event.pid;
      }
      return thread.pid == event.pid ? std::optional(found->second) : std::nullopt;
    }
    if (!event.is_known) {
      return std::nullopt;
    }
    const auto [added, is_new] =
        added_.try_emplace(std::pair(event.tid, event.pid), recording_.threads.size());
    if (is_new) {
      recording_.threads.push_back({.tid = event.tid, .pid = event.pid, .name = event.thread});
    }
    return static_cast<uint32_t>(added->second);
  }

  uint32_t text_of(const std::string& text) {
    const auto [found, is_new] = texts_.try_emplace(text, static_cast<uint32_t>(recording_.texts.size()));
    if (is_new) {
      recording_.texts.push_back(text);
    }
    return found->second;
  }

  traces::BurstRecording& recording_;
  std::unordered_map<std::string, uint32_t> texts_;
  std::map<std::pair<uint32_t, uint32_t>, size_t> added_;
};

}  // namespace

Result<ApplicationEvents> parse_application_events(Bytes answer, uint64_t after) {
  ByteReader in(answer);
  const std::string_view magic = as_text(in.bytes(kMagicOfAnswer.size()));
  ApplicationEvents parsed;
  parsed.next = in.read<uint64_t>();
  parsed.lost = in.read<uint64_t>();
  const auto count = in.read<uint32_t>();
  const auto record_bytes = in.read<uint32_t>();
  if (!in.ok() || magic != kMagicOfAnswer || record_bytes != kRecordBytes ||
      answer.size() > kMaxAnswerBytes || in.remaining() != uint64_t{count} * kRecordBytes) {
    return fail(ErrorCode::kCorrupt, "the answer has no events of bursts, or more than it may have");
  }
  const uint64_t most = parsed.next > after ? parsed.next - after : 0;
  if (parsed.next > kMaxSequence || count > most || parsed.lost > most - count) {
    return fail(ErrorCode::kCorrupt, "the answer counts events that were not asked for");
  }
  parsed.events.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    auto event = read_record(in);
    if (!event) {
      return fail(ErrorCode::kCorrupt, "event {} of the answer is malformed", i);
    }
    parsed.events.push_back(std::move(*event));
  }
  return parsed;
}

ProcessThreads threads_of_process(const identity::ProcFs& proc_fs, uint32_t pid) {
  ProcessThreads threads;
  threads.is_nested = numbers_of(proc_fs, pid).size() > 1;
  std::vector<identity::NamedThread> live = proc_fs.threads(pid);
  live.push_back({pid, proc_fs.comm(pid)});
  for (const identity::NamedThread& thread : live) {
    const std::vector<uint32_t> numbers =
        threads.is_nested ? numbers_of(proc_fs, thread.tid) : std::vector{thread.tid};
    if (!numbers.empty()) {
      threads.by_own_id.try_emplace(numbers.back(), thread);
    }
  }
  return threads;
}

void attribute(const ProcessThreads& threads, uint32_t pid, ApplicationEvents& events) {
  for (ApplicationEvent& event : events.events) {
    event.pid = pid;
    if (const auto found = threads.by_own_id.find(event.tid); found != threads.by_own_id.end()) {
      event.tid = found->second.tid;
      event.thread = found->second.name;
      event.is_known = true;
    }
  }
  if (threads.is_nested) {
    events.lost +=
        std::erase_if(events.events, [](const ApplicationEvent& event) { return !event.is_known; });
  }
}

void add_application_events(ApplicationEvents events, traces::BurstRecording& recording) {
  recording.lost_application_events += events.lost;
  if (events.events.empty()) {
    return;
  }
  sort_stably(events.events, [](const ApplicationEvent& event) { return event.time_ns; });
  ApplicationEventAdder adder(recording);
  size_t taken = 0;
  for (traces::Burst& burst : recording.bursts) {
    const auto first = std::ranges::lower_bound(events.events, burst.on_ns, {}, &ApplicationEvent::time_ns);
    const auto last = std::ranges::upper_bound(events.events, burst.off_ns, {}, &ApplicationEvent::time_ns);
    if (first < last) {
      taken += adder.add(first, last, burst);
    }
  }
  recording.lost_application_events += events.events.size() - std::min(taken, events.events.size());
}

void drop_unused_details(traces::BurstRecording& recording) {
  size_t used = 0;
  for (const traces::Burst& burst : recording.bursts) {
    for (const traces::BurstEvent& event : burst.events) {
      used = is_of_application(event.kind) ? std::max<size_t>(used, event.second + 1) : used;
    }
  }
  recording.details.resize(std::min(used, recording.details.size()));
}

}  // namespace plimsoll::bursts
