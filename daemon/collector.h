// Collects raw profiles on this machine: sampler, processes and kernel symbols put together.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/identity/kernel.h"
#include "capture/identity/processes.h"
#include "capture/profile/profile_builder.h"
#include "capture/profile/user_stacks.h"
#include "daemon/event_plan.h"
#include "daemon/exact_counts.h"
#include "daemon/governor.h"
#include "daemon/sampling/sampler.h"
#include "daemon/waits/wait_events.h"
#include "daemon/window_cost.h"
#include "daemon/window_counts/window_counts.h"
#include "proto/profile.pb.h"

namespace plimsoll {

inline constexpr uint32_t kDefaultRateHz = 99;
// 8 KiB complete none of sqlite3's stacks and 72 % of a compiler's, 16 KiB over 90 % (docs/collecting.md).
inline constexpr uint32_t kDefaultStackBytes = 16 << 10;
inline constexpr uint32_t kMaxStackBytes = 65'528;  // what the kernel takes; 64 KiB are rounded down to it

struct CollectorOptions {
  wire::Machine machine;
  std::shared_ptr<const identity::JobRules> rules = {};  // null: none
  wire::Assignment
      assignment;  // its events and rate; no events: cycles and instructions, or what stands in for them (plan_events)
  std::vector<std::string> allowed_events;  // that this machine permits (limits.events); none: all
  ExactCountSettings exact_counts = {};     // what the operator wants counted besides
  uint32_t sample_pages = 0;  // of each CPU's ring buffer, a power of two; 0: as perf::ring_pages has it
  // Who holds this within its limits; borrowed. Null: no limits, for one profile by hand.
  Governor* governor = nullptr;
};

// One thread. A collector keeps its knowledge of processes from window to window.
class Collector {
 public:
  // Fails where none of the events can be measured, and says why.
  static Result<std::unique_ptr<Collector>> open(CollectorOptions options);

  struct WindowOptions {
    int64_t duration_ns = 0;
    bool with_kernel_symbols = false;
    int wake_fd = -1;  // readable: end the window now, with what there is
    std::function<void(int64_t elapsed_ns, uint64_t hits)> progress =
        {};  // called a few times a second, if set
  };

  // Collects for one window. Events are stopped while the window is closed, so that for each event of the
  // profile hits + lost is exactly what the kernel produced.
  //
  // The governor's slowdown holds for a whole window, so that all its samples stand for the same; a window ends early where
  // the slowdown is to be another one, or CPU time or memory are used up. The profile's cost and notes say so.
  Result<wire::RawProfile> collect(const WindowOptions& window);

  // Takes no samples for a while, but notes what processes do meanwhile. Ends early when `wake_fd` is readable.
  Status follow_processes(int64_t duration_ns, int wake_fd);

  // Whether other CPUs are online than when it was opened: those that came would not be sampled, and counters of those that went
  // cannot be read. Another collector has to be opened then.
  bool is_outdated() const;

  // Gives up what the next window can do without.
  void shrink();

  // What cannot be measured here, in words.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  explicit Collector(CollectorOptions options);
  Status open_sampler();
  // Where the plan has events that are made of switches; without them, and with the reason, where these cannot be recorded.
  void open_waits(uint64_t max_ring_bytes);
  // runnable-ns, where the kernel's wake-ups name threads otherwise than its switches.
  void drop_waits_of_other_namespaces();
  // Before the first window: the processes that are there, and what changed while they were read.
  Status learn_processes();
  // What a window needs from its opening to its profile.
  struct OpenWindow {
    WindowCost cost;
    ProfileBuilder builder;
    wire::ClockPair clocks;
    uint64_t unknown_processes;  // until it was opened, as the next
    uint64_t side_band_lost;
  };
  Result<OpenWindow> open_window();
  // What was counted in the window rather than sampled, and how its events are to be scaled.
  Status write_counted(OpenWindow& open, wire::RawProfile& profile);
  void note_unknown_processes(uint64_t unknown_before, wire::RawProfile& profile) const;
  void end_window();
  Status run_window(const WindowOptions& window, ProfileBuilder& builder, WindowCost& cost);
  // From the first record of the window to the last.
  Status run_sampler(const WindowOptions& window, SampleAssembly& assembly, const ProfileBuilder& builder,
                     WindowCost& cost);
  // From enabled to disabled.
  Status sample(const WindowOptions& window, const std::function<void(Bytes record)>& consume,
                const ProfileBuilder& builder, WindowCost& cost);
  // Whether the governor wants the window to end.
  bool must_end(WindowCost& cost);

  CollectorOptions options_;
  EventPlan plan_;
  std::vector<std::string> notes_;
  std::unique_ptr<identity::KernelMap> kernel_;  // null where its addresses are hidden
  identity::ProcFs proc_fs_;
  identity::LiveImages images_;
  identity::BinaryTable binaries_;
  identity::ProcessTable processes_;
  identity::WorkloadNamer namer_;
  UserStacks user_stacks_;
  std::vector<int> cpus_;  // that are sampled
  std::unique_ptr<perf::Sampler> sampler_;
  std::unique_ptr<waits::WaitEvents> waits_;  // null: none are wanted, or none can be had
  std::vector<std::unique_ptr<WindowCounts>> window_counts_;
  std::mt19937_64 random_;
  bool scanned_ = false;
};

}  // namespace plimsoll
