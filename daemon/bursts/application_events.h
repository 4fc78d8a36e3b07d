// What applications tell of bursts (docs/bursts.md; appprof/burst_ring.h writes it): from answers of their endpoints to events of a recording.
// Pure but for threads_of_process(); any thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "capture/identity/proc_fs.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::bursts {

// Of the bytes of an answer: a head, and as many records as the library's ring has.
inline constexpr uint64_t kMaxAnswerBytes = 32 + uint64_t{8192} * 120;
// What one takes of memory, with its texts: as much as so many events of the kernel, by which recordings are limited.
inline constexpr uint64_t kBytesPerApplicationEvent = 256;
inline constexpr uint64_t kEventsPerApplicationEvent = kBytesPerApplicationEvent / sizeof(traces::BurstEvent);

struct ApplicationEvent {
  int64_t time_ns = 0;  // CLOCK_MONOTONIC
  uint64_t request = 0;
  uint64_t number = 0;
  uint64_t call = 0;
  uint32_t tid = 0;  // of an answer: as the process itself knows it
  uint32_t pid = 0;
  traces::BurstEventKind kind = traces::BurstEventKind::kAnnotation;
  bool is_known = false;    // that the thread is of the process
  std::string thread = {};  // its name, where it is known
  std::string text = {};
  std::string peer = {};
  bool operator==(const ApplicationEvent&) const = default;
};

struct ApplicationEvents {
  std::vector<ApplicationEvent> events;
  uint64_t next = 0;  // the newest sequence number
  uint64_t lost = 0;
};

// Of the answer to a request for events after `after`. Bytes may be anything: kCorrupt.
Result<ApplicationEvents> parse_application_events(Bytes answer, uint64_t after);

struct ProcessThreads {
  std::unordered_map<uint32_t, identity::NamedThread> by_own_id;  // as the process itself knows them
  bool is_nested = false;                                         // its PID namespace is not that of /proc
};
// Of those that live. Reads a file or two for each.
ProcessThreads threads_of_process(const identity::ProcFs& proc_fs, uint32_t pid);

// Events get IDs of the initial namespace and the process. Those of threads that are not there are dropped and count as lost, unless the
// process is not nested: then the thread may have ended, and add_application_events() decides.
void attribute(const ProcessThreads& threads, uint32_t pid, ApplicationEvents& events);

// Into the bursts that they lie in, of a recording that has its threads. Lost are those that lie in none, and those of a thread that neither
// was known nor is of this process by the burst's own events.
void add_application_events(ApplicationEvents events, traces::BurstRecording& recording);
// Those behind the last that an event has: where the last bursts of a recording were left out.
void drop_unused_details(traces::BurstRecording& recording);

}  // namespace plimsoll::bursts
