// From the kernel's records of tracepoints to events of a burst. No I/O but for the formats; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "daemon/bursts/stack_collector.h"
#include "daemon/bursts/tracepoint_format.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::bursts {

// The tracepoint of a kind, and where its fields are; fields that a kind does not need are left as they are.
struct BurstTracepoint {
  traces::BurstEventKind kind = traces::BurstEventKind::kSwitch;
  uint32_t id = 0;
  TracepointField flags;       // common_flags
  TracepointField own_tid;     // common_pid
  TracepointField other_tid;   // next_pid, pid
  TracepointField other_name;  // next_comm, comm
  TracepointField own_name;    // prev_comm
  TracepointField state;       // prev_state
  TracepointField call;        // id of a system call
  TracepointField arguments;   // args
  TracepointField device;      // dev
  TracepointField sector;
  TracepointField sectors;  // nr_sector, of 512 bytes
  TracepointField length;   // len, of a packet
};

// kUnsupported where this kernel's tracepoint is another.
Result<BurstTracepoint> burst_tracepoint(traces::BurstEventKind kind, const TracepointFormat& format);

// What every record of a tracepoint has (perf_event_attr.sample_type); the order is the kernel's. `has_id`: first the ID of its event,
// which tells it from samples of another layout in the same ring.
uint64_t burst_sample_type(bool has_id);
// Of an event that samples threads with their stacks.
uint64_t burst_stack_sample_type();

// Names threads, decodes records. The kernel uses IDs of threads again, and threads change their names: between bursts
// a thread is the same as before only if ID, process and name are. One that has no name in a burst is the newest with its
// ID and process. Of system calls keeps the number, and two arguments of getpid() where they are a mark's: no other argument
// goes into an event.
class EventCollector {
 public:
  // `getpid` is its number, of which calls are mark calls. `stacks`, which are borrowed: records have the ID of their event; null: there
  // are no samples.
  EventCollector(std::vector<BurstTracepoint> tracepoints, uint64_t getpid, StackCollector* stacks = nullptr);

  // An event of burst_stack_sample_type(). Only with stacks.
  void add_sample_event(uint64_t id) { sample_events_.insert(id); }

  // A sample of one of the tracepoints or of add_sample_event(), header included. False where the record is something else, or cannot be decoded.
  bool add(Bytes record);

  // What was added since the last call, all of one burst, in the order of time; empty afterwards.
  std::vector<traces::BurstEvent> take_events();
  // Of samples that could not be decoded since the last call.
  uint64_t take_unread_bytes() { return std::exchange(unread_bytes_, 0); }
  // How many events were added and not taken.
  size_t size() const { return events_.size(); }
  // Those of the events that were taken since the last call; events have other indexes from then on. Call after take_events().
  std::vector<traces::BurstThread> take_threads();
  // Of the events that were taken, until take_threads().
  const std::vector<traces::BurstThread>& threads() const { return threads_; }

 private:
  bool decode(Bytes record);
  // `rest`: the call chain.
  bool decode_sample(uint32_t tid, uint32_t pid, traces::BurstEvent event, ByteReader& rest);
  // `raw`: what the tracepoint has; the numbers of the thread are the sample's.
  bool decode_tracepoint(uint32_t sample_tid, uint32_t sample_pid, traces::BurstEvent event, Bytes raw);
  // Nothing: it is none to be kept.
  std::optional<traces::BurstEvent> with_fields(const BurstTracepoint& tracepoint, Bytes raw,
                                                traces::BurstEvent event);
  void begin_burst();
  uint32_t thread_of(uint32_t tid, uint32_t pid, std::string_view name);
  // The index in threads_ of a thread of this burst.
  uint32_t known_thread(const traces::BurstThread& thread);
  std::optional<traces::BurstEvent> decode_call(const BurstTracepoint& tracepoint, Bytes raw,
                                                traces::BurstEvent event) const;

  std::vector<BurstTracepoint> tracepoints_;
  uint64_t getpid_;
  StackCollector* stacks_;
  std::unordered_set<uint64_t> sample_events_;
  std::vector<uint64_t> chain_;
  std::vector<traces::BurstEvent> events_;
  uint64_t unread_bytes_ = 0;
  std::vector<traces::BurstThread> threads_;
  std::unordered_multimap<uint32_t, uint32_t> known_by_tid_;  // of threads_
  // Of the burst whose events are added; the index of events_ until they are taken.
  std::vector<traces::BurstThread> burst_threads_;
  std::unordered_map<uint32_t, uint32_t> index_by_tid_;
};

}  // namespace plimsoll::bursts
