#include "daemon/bursts/assigned_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hex.h"
#include "base/log.h"
#include "base/random.h"
#include "base/time.h"
#include "daemon/assignments/assignment_queue.h"
#include "traces/bursts/burst_events.h"

namespace plimsoll::bursts {
namespace {

constexpr size_t kRecordingIdBytes = 16;
// A recording is handed over after so long, whatever it has: what a daemon has not handed over is lost with it.
constexpr int64_t kMaxPendingMs = int64_t{5} * 60 * 1000;
// A server takes recordings of ten million.
constexpr uint64_t kMaxEventsOfRecording = 2'000'000;
// Of the memory: rings, the records of one burst, events that wait for their recording. The last quarter is for making it.
constexpr uint64_t kPartsOfMemory = 4;
// Stacks of samples take half of that last quarter: what is made of them is much smaller.
constexpr uint64_t kPartsForStacks = 8;
constexpr uint64_t kBytesPerStackNode = 80;  // of tables of nodes, frames and their numbers, some
// Not in step with what happens every ms or every 10 ms.
constexpr uint32_t kAssignedSamplesHz = 997;

// Of what is asked of applications: between bursts, at the end of a recording, and how often.
constexpr int64_t kMaxCollectNs = kNsPerSecond;
constexpr int64_t kCollectEveryNs = kNsPerSecond;

bool has_event(const wire::BurstRequest& bursts, std::string_view name) {
  return std::ranges::find(bursts.events(), name) != bursts.events().end();
}

BurstRecorderOptions options_of(const wire::BurstRequest& bursts, uint64_t max_memory_bytes) {
  const auto has = [&bursts](std::string_view name) { return has_event(bursts, name); };
  return {.with_system_calls = has(traces::kSystemCalls),
          .with_page_faults = has(traces::kPageFaults),
          .with_disk = has(traces::kDisk),
          .with_network = has(traces::kNetwork),
          .samples_hz = has(traces::kSamples) ? kAssignedSamplesHz : 0,
          .max_stack_nodes = max_memory_bytes / kPartsForStacks / kBytesPerStackNode,
          .max_ring_bytes = max_memory_bytes / kPartsOfMemory,
          .max_burst_bytes = max_memory_bytes / kPartsOfMemory};
}

int64_t until_ns(int64_t wall_ms) {
  return wall_ms * kNsPerMs - wall_now_ns();
}

}  // namespace

AssignedRecording::AssignedRecording(const wire::Assignment& assignment, const traces::BurstConfig& config,
                                     const RecordingContext& context, int stop_fd,
                                     std::function<bool()> is_wanted,
                                     std::function<void(const wire::BurstReport&)> changed)
    : assignment_(assignment),
      config_(config),
      context_(context),
      stop_fd_(stop_fd),
      is_wanted_(std::move(is_wanted)),
      changed_(std::move(changed)) {}

int64_t AssignedRecording::left_ns() const {
  return end_of(assignment_) - context_.server_now_ns();
}

Status AssignedRecording::run() {
  Status done;
  if (context_.open_applications && has_event(assignment_.bursts(), traces::kApplications)) {
    applications_ = context_.open_applications(stop_fd_);
  }
  while (done && !is_over_ && is_wanted_()) {
    const auto recorder = context_.open(options_of(assignment_.bursts(), context_.max_memory_bytes));
    done = recorder ? run_with(**recorder) : propagate(recorder, "preparing to record bursts");
  }
  if (applications_ != nullptr) {
    applications_->release(monotonic_now_ns() + kMaxCollectNs);
  }
  return done;
}

Status AssignedRecording::run_with(Recorder& recorder) {
  auto loop = BurstLoop::make(config_, recorder, stop_fd_);
  if (!loop) {
    return propagate(loop);
  }
  const wire::BurstRequest& bursts = assignment_.bursts();
  if (budget_ == nullptr) {
    budget_ = std::make_unique<BurstBudget>(BurstBudget::limits_of(bursts.max_bytes(), bursts.max_overhead(),
                                                                   bursts.duration_ns(), recorder.cpus()));
  }
  traces::BurstRecording head;
  head.machine = context_.machine;
  head.draw = assignment_.draw().id();
  head.config_bits = config_.bits();
  head.cpus = static_cast<uint32_t>(recorder.cpus());
  head.notes = recorder.notes();
  head.notes.insert(head.notes.end(), context_.notes.begin(), context_.notes.end());
  RecordingBuilder builder(std::move(head),
                           std::min(context_.max_memory_bytes / kPartsOfMemory / sizeof(traces::BurstEvent),
                                    kMaxEventsOfRecording));
  Status done;
  Result<Step> step = Step::kGoOn;
  while (done && step && *step == Step::kGoOn && !is_over_ && is_wanted_() && !recorder.is_outdated()) {
    step = take_next(*loop, builder);
    const bool is_due =
        builder.is_full() || (!builder.is_empty() && next_begin_ms_ - first_pending_ms_ > kMaxPendingMs);
    if (step && is_due) {
      done = cut(recorder, builder);
    }
  }
  is_over_ = is_over_ || !done || !step || *step == Step::kEnd;
  const Status rest = cut(recorder, builder);
  if (!step) {
    return propagate(step);
  }
  return done ? rest : done;
}

Result<AssignedRecording::Step> AssignedRecording::take_next(BurstLoop& loop, RecordingBuilder& builder) {
  const traces::BurstTimes planned = loop.next();
  // Those before the start are of no assignment, or of another one.
  const bool is_before_start = until_ns(planned.begin_ms) < assignment_.start_ns() - context_.server_now_ns();
  if (until_ns(planned.end_ms) > left_ns()) {
    return Step::kEnd;
  }
  if (const std::string reason = budget_->reason_to_end(builder.events()); !reason.empty()) {
    end_early(reason);
    return Step::kEnd;
  }
  if (applications_ != nullptr) {
    applications_->prepare(config_, left_ns(), monotonic_now_ns() + until_ns(planned.begin_ms));
  }
  const auto begun = loop.wait_for(planned);
  if (!begun) {
    return propagate(begun);
  }
  if (*begun != Waited::kReached || is_before_start) {
    return Step::kGoOn;
  }
  note_gone_by(planned);
  if (const std::string reason = context_.reason_to_pause(); !reason.empty()) {
    report_.set_missed(report_.missed() + 1);
    report_.set_detail("bursts are missed while recording pauses: " + reason);
    report();
    return Step::kGoOn;
  }
  const Status recorded = record(planned, loop, builder);
  return recorded ? Result<Step>(Step::kGoOn) : propagate(recorded);
}

Status AssignedRecording::record(const traces::BurstTimes& planned, BurstLoop& loop,
                                 RecordingBuilder& builder) {
  const int64_t cpu_before_ns = thread_cpu_ns();
  auto burst = loop.record(planned);
  if (!burst) {
    return propagate(burst);
  }
  // One that was stopped is cut, and kept: its own times say so.
  const uint64_t lost = burst->all_lost();
  const uint64_t events = burst->events.size();
  const auto is_sample = [](const traces::BurstEvent& event) {
    return event.kind == traces::BurstEventKind::kSample;
  };
  const uint64_t samples = static_cast<uint64_t>(std::ranges::count_if(burst->events, is_sample)) +
                           burst->lost[static_cast<size_t>(traces::BurstEventKind::kSample)];
  first_pending_ms_ = builder.is_empty() ? planned.begin_ms : first_pending_ms_;
  builder.add(std::move(*burst), context_.read_clock());
  if (monotonic_now_ns() >= next_collect_ns_) {
    // Half of the time until the next burst.
    const int64_t between_ns = until_ns(planned.begin_ms + config_.period_ms()) / 2;
    collect(builder, monotonic_now_ns() + std::min(between_ns, kMaxCollectNs));
  }
  budget_->note_burst(thread_cpu_ns() - cpu_before_ns, events + lost, samples);
  report_.set_recorded(report_.recorded() + 1);
  report_.set_events(report_.events() + events);
  report_.set_lost(report_.lost() + lost);
  report();
  return {};
}

void AssignedRecording::note_gone_by(const traces::BurstTimes& planned) {
  if (next_begin_ms_ != 0 && planned.begin_ms > next_begin_ms_) {
    // A clock that was set forward passes over more of them than there were.
    const int64_t most = assignment_.duration_ns() / kNsPerMs / config_.period_ms();
    const int64_t gone_by = (planned.begin_ms - next_begin_ms_) / config_.period_ms();
    report_.set_missed(report_.missed() + static_cast<uint64_t>(std::min(gone_by, most)));
  }
  next_begin_ms_ = planned.begin_ms + config_.period_ms();
}

void AssignedRecording::collect(RecordingBuilder& builder, int64_t deadline_ns) {
  if (applications_ != nullptr) {
    const uint64_t max_events = context_.max_memory_bytes / kPartsOfMemory / kBytesPerApplicationEvent;
    builder.add(applications_->collect(max_events, deadline_ns));
    next_collect_ns_ = monotonic_now_ns() + kCollectEveryNs;
  }
}

void AssignedRecording::end_early(const std::string& why) {
  report_.set_detail("ended early: " + why);
  report();
}

Status AssignedRecording::cut(Recorder& recorder, RecordingBuilder& builder) {
  std::vector<traces::BurstThread> threads = recorder.take_threads();
  traces::BurstStacks stacks = recorder.take_stacks();
  if (builder.is_empty()) {
    return {};
  }
  const int64_t cpu_before_ns = thread_cpu_ns();
  collect(builder, monotonic_now_ns() + kMaxCollectNs);
  const BuiltRecording built = builder.build(std::move(threads), budget_->bytes_left(), std::move(stacks));
  Status handed_over;
  if (built.bursts > 0) {
    const std::string id = random_bytes(kRecordingIdBytes);
    handed_over = context_.hand_over(id, as_bytes(built.encoded));
    if (handed_over) {
      log_info("recording {}: {} bursts, {} events, {} KiB", to_hex(id), built.bursts, built.events,
               built.encoded.size() >> 10U);
    }
  }
  budget_->note_cpu(thread_cpu_ns() - cpu_before_ns);
  const uint64_t kept = handed_over ? built.bursts : 0;
  const uint64_t left_out = built.left_out + built.bursts - kept;
  report_.set_recorded(report_.recorded() - std::min(report_.recorded(), left_out));
  report_.set_missed(report_.missed() + left_out);
  if (kept > 0) {
    budget_->note_recording(built.encoded.size(), built.events);
    report_.set_recordings(report_.recordings() + 1);
    report_.set_bytes(report_.bytes() + built.encoded.size());
  }
  if (built.left_out > 0) {
    end_early(fmt::format("{} bursts did not fit into the {} KiB left (max_bytes)", built.left_out,
                          budget_->bytes_left() >> 10U));
    is_over_ = true;
  }
  report();
  return handed_over ? Status() : propagate(handed_over, "keeping a recording of bursts");
}

}  // namespace plimsoll::bursts
