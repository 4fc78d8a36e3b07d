// What each layer did for a request, on all machines: number, time and bytes. Pure; one thread.
//
// Running, runnable and blocked time are those of threads, as request_times() has them: blocked by a lock, a disk, an
// RPC and other causes add up to all blocked time. The other layers look at the same time in another way and overlap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "traces/bursts/joined/request_times.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::traces {

enum class RequestLayer : uint8_t {
  kRpcIn,  // as applications tell: bytes of the request, and of the answer
  kRpcOut,
  kAnnotation,
  kRunning,
  kRunningUser,    // running time by the share of samples with code of users
  kRunningKernel,  // whose innermost frame is the kernel's
  kRunnable,
  kLockWait,  // from mark to mark
  kBlockedLock,
  kBlockedDisk,   // and not by a lock: while the thread's own request of a disk was not done
  kBlockedRpc,    // and by neither: while an RPC that the thread began went out
  kBlockedOther,  // the rest, and what is not known of the three
  kSystemCall,
  kDisk,  // of each request from its issue to its end
  kPacketSent,
  kPacketReceived,  // never known: a packet does not say for which request it comes
  kPageFault,
};
inline constexpr size_t kRequestLayers = 17;
std::string_view name_of(RequestLayer layer);

// What a layer has.
enum class LayerMeasure : uint8_t { kCount, kNs, kBytes, kAnswerBytes };
inline constexpr size_t kLayerMeasures = 4;
std::string_view name_of(LayerMeasure measure);
bool has_measure(RequestLayer layer, LayerMeasure measure);

struct LayerAmount {
  bool is_known = true;  // else no number means anything
  uint64_t count = 0;
  int64_t ns = 0;
  uint64_t bytes = 0;
  uint64_t answer_bytes = 0;
  bool knows_answers = true;  // of all RPCs: one without an end has none

  // Time that does not fit becomes INT64_MAX.
  void add(const LayerAmount& other);
  uint64_t value(LayerMeasure measure) const;
  // Else value() means nothing.
  bool knows(LayerMeasure measure) const {
    return is_known && (knows_answers || measure != LayerMeasure::kAnswerBytes);
  }
  bool operator==(const LayerAmount&) const = default;
};

struct RequestLayers {
  RequestTimes times;
  std::array<LayerAmount, kRequestLayers> layers{};
  std::map<uint64_t, LayerAmount> system_calls;  // by number: count and ns
  std::map<std::string, LayerAmount> phases;     // by name, any bytes: count and ns

  const LayerAmount& of(RequestLayer layer) const { return layers[static_cast<size_t>(layer)]; }
  LayerAmount& of(RequestLayer layer) { return layers[static_cast<size_t>(layer)]; }
};

// Which kinds a recording has any event of: what it was not asked to record, it cannot know. Costs a look at all
// events.
using RecordedKinds = std::array<bool, kBurstEventKinds>;
RecordedKinds recorded_kinds(const BurstRecording& recording);

struct MachineLayers {
  std::string machine;
  int64_t offset_ns = 0;         // to the wall clock, repaired
  uint64_t lost_events = 0;      // of the machine in this burst
  uint64_t lost_app_events = 0;  // of its recording
  RequestLayers layers;          // times by the machine's clock
};

// Times of `sum` are those of the wall clock, from the first begin to the last end. It is whole if it is whole on all
// of its machines. A layer that one of them does not know has no sum.
struct LayeredRequest {
  RequestLayers sum;
  std::vector<MachineLayers> machines;  // in the order in which they were added
};

// Requests of one burst, of all machines.
//
//   layering.add(recording, burst, joined, kinds, offset_ns);   // of each machine
//   for (const LayeredRequest& request : layering.finish()) ...
class RequestLayering {
 public:
  // Requests are those of request_times(). What happened while a thread worked for a request is the request's; what
  // applications tell belongs to the request that they name. Costs what the burst's events cost. `offset_ns` is added
  // to the machine's times. Of a part that two recordings of a machine have, the whole one counts, else the first.
  void add(const BurstRecording& recording, const Burst& burst, const JoinedBurst& joined,
           const RecordedKinds& recorded, int64_t offset_ns);
  // In the order in which they begin. Leaves nothing.
  std::vector<LayeredRequest> finish();

 private:
  std::map<uint64_t, LayeredRequest> requests_;  // by ID
};

}  // namespace plimsoll::traces
