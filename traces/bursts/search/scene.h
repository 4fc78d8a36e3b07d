// What a search looks at: the intervals and events of one burst, of all machines, on one clock. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/bursts/joined/application_rpcs.h"
#include "traces/bursts/joined/request_times.h"
#include "traces/bursts/recording/burst_recording.h"
#include "traces/bursts/search/query.h"
#include "traces/bursts/search/search_spans.h"

namespace plimsoll::traces {

// One machine's part of a burst, and by how much its wall clock is repaired.
struct SceneMachine {
  const BurstRecording* recording = nullptr;
  const Burst* burst = nullptr;
  int64_t shift_ns = 0;

  // To be added to the burst's times: wall clock time of all machines.
  int64_t offset_ns() const { return burst->wall_offset_on_ns + shift_ns; }
};

inline constexpr uint32_t kNoMachine = UINT32_MAX;
// By ID of a machine in spans: the index of the machine whose recording has that name, else kNoMachine.
std::vector<uint32_t> recorded_machines(const std::vector<SceneMachine>& machines, const NameTable& names);

// Plain data of 56 bytes.
struct SearchItem {
  int64_t begin_ns = 0;  // wall clock, repaired
  int64_t end_ns = 0;
  uint64_t request = 0;  // 0: none that is known
  uint64_t value = 0;    // lock, phase, number or stack, by kind
  uint32_t machine = 0;  // index of SearchScene::machines
  uint32_t thread = kNoThread;
  uint32_t other = kNoThread;  // who woke it, or whom it wakes
  uint32_t detail =
      0;  // index of the request's times, the span, the RPC of spans or, with a thread, of an application, or its detail
  uint16_t cpu = 0;

  int64_t duration_ns() const { return end_ns - begin_ns; }
  bool operator==(const SearchItem&) const = default;
};

struct SearchScene {
  int64_t begin_ns = 0;  // of the burst on the first machine
  int64_t end_ns = 0;    // on the last one
  std::vector<SceneMachine> machines;
  std::vector<std::string> machine_names;  // of `machines`, then those that spans alone name
  std::vector<RequestTimes> requests;
  std::vector<ApplicationRpc> application_rpcs;
  const SearchSpans* spans = nullptr;
  // By kind, each in the order of begin and end; those of kinds that were not asked for are empty.
  std::array<std::vector<SearchItem>, kItemKinds> items;

  const std::vector<SearchItem>& of(ItemKind kind) const { return items[static_cast<size_t>(kind)]; }
};

// Borrows recordings and spans. Spans may be null; of spans those of requests that have a moment in common with the burst. Costs what the
// bursts' events and the spans around them cost.
SearchScene make_scene(const std::vector<SceneMachine>& machines, const SearchSpans* spans, ItemKinds kinds);

// A thread held the lock that another one waited for: it is the one that woke it. From its own mark where it made one, else from the begin
// of that wait, until the wait's end. `blocked` by thread and begin; each hold once.
std::vector<SearchItem> lock_holds(const std::vector<SearchItem>& waits,
                                   const std::vector<SearchItem>& blocked, const JoinedBurst& joined,
                                   int64_t offset_ns);

// Nothing: the item lacks it, or it is a text.
std::optional<uint64_t> number_of(const SearchScene& scene, ItemKind kind, const SearchItem& item,
                                  const FieldName& field);
// Nothing: the item lacks it, or it is a number. Borrows the scene, or `room`.
std::optional<std::string_view> text_of(const SearchScene& scene, ItemKind kind, const SearchItem& item,
                                        const FieldName& field, std::string& room);

// Of an item of its kind, for people: "thread 17 (worker) machine a". Any bytes of names are made printable.
std::string describe(const SearchScene& scene, ItemKind kind, const SearchItem& item);

}  // namespace plimsoll::traces
