#include <array>

#include "bench/daemon/capture.h"
#include "bench/daemon/libunwind_peer.h"
#include "bench/daemon/load.h"
#include "bench/daemon/parts.h"
#include "bench/daemon/replayed_walk.h"
#include "bench/harness/statistics.h"
#include "capture/profile/user_stacks.h"

namespace plimsoll::bench {
namespace {

constexpr double kGoalNs = 100;

using Stacks = std::vector<std::vector<uint64_t>>;

// Of the frames that both found, how many lie at one address. A return address and the byte before it are one.
struct Agreement {
  size_t compared = 0;
  size_t equal = 0;
  size_t ours = 0;
  size_t theirs = 0;

  void add(const std::vector<uint64_t>& our_stack, const std::vector<uint64_t>& their_stack) {
    ours += our_stack.size();
    theirs += their_stack.size();
    for (size_t i = 0; i < std::min(our_stack.size(), their_stack.size()); ++i) {
      ++compared;
      equal += their_stack[i] - our_stack[i] <= 1 ? 1 : 0;
    }
  }
};

// The same samples, unwound in three ways; each returns how many frames it found.
class Contest {
 public:
  explicit Contest(const Capture& capture)
      : samples_(capture.samples()), user_stacks_(capture.images()), replayed_(capture.images()) {}

  size_t by_user_stacks(size_t index) {
    const CapturedSample& captured = samples_[index];
    user_stacks_.unwind(captured.sample, {}, captured.process, stack_);
    return stack_.addresses.size();
  }
  size_t by_walker(size_t index) { return replayed_.walk(index); }
  size_t by_libunwind(size_t index) {
    libunwind_.unwind(samples_[index], instructions_);
    return instructions_.size();
  }

  // Unwinds each sample once in every way, so that all tables are there and all caches warm.
  Agreement warm_up() {
    Agreement agreement;
    for (size_t i = 0; i < samples_.size(); ++i) {
      replayed_.prepare(samples_[i]);
      by_user_stacks(i);
      by_libunwind(i);
      agreement.add(stack_.addresses, instructions_);
    }
    return agreement;
  }

  // CPU time of a frame, over all samples `passes` times. A few samples at a time, so that their stacks stay in the cache: the
  // daemon unwinds what it has just copied out of a ring.
  double frame_ns(size_t (Contest::*unwind)(size_t), int passes) {
    constexpr size_t kBatch = 32;
    size_t frames = 0;
    const int64_t start_ns = thread_cpu_ns();
    for (size_t first = 0; first < samples_.size(); first += kBatch) {
      const size_t end = std::min(first + kBatch, samples_.size());
      for (int pass = 0; pass < passes; ++pass) {
        for (size_t i = first; i < end; ++i) {
          frames += (this->*unwind)(i);
        }
      }
    }
    const auto elapsed_ns = static_cast<double>(thread_cpu_ns() - start_ns);
    return elapsed_ns / static_cast<double>(std::max<size_t>(frames, 1));
  }

 private:
  const std::vector<CapturedSample>& samples_;
  UserStacks user_stacks_;
  UserStack stack_;
  ReplayedWalk replayed_;
  LibunwindPeer libunwind_;
  std::vector<uint64_t> instructions_;
};

Status capture_load(const Flags& flags, Capture& capture) {
  const auto folder = ScratchFolder::create();
  if (!folder) {
    return propagate(folder);
  }
  const auto load = Load::start(*folder);
  return load ? capture.run(flags.quick ? 1.5 : 4, 400) : propagate(load);
}

}  // namespace

Status measure_frames(const Flags& flags, Report& report) {
  Capture capture;
  if (auto captured = capture_load(flags, capture); !captured) {
    return propagate(captured, "capturing stacks");
  }
  Contest contest(capture);
  const Agreement agreement = contest.warm_up();
  const auto stacks = static_cast<double>(capture.samples().size());
  if (agreement.compared == 0) {
    return fail(ErrorCode::kNotFound, "none of {} samples could be unwound", stacks);
  }
  const int passes = flags.quick ? 10 : 20;
  const std::array<std::function<double()>, 3> contenders{
      [&] { return contest.frame_ns(&Contest::by_user_stacks, passes); },
      [&] { return contest.frame_ns(&Contest::by_walker, passes); },
      [&] { return contest.frame_ns(&Contest::by_libunwind, passes); }};
  const auto medians = interleaved_medians(flags.quick ? 5 : 11, contenders);
  const std::string peer = "libunwind, unw_step remote, cached";
  report.add(
      {.name = "unwound-frame-ns",
       .value = medians[0],
       .unit = "ns",
       .peer = peer,
       .peer_value = medians[2],
       .goal = kGoalNs,
       .note = fmt::format("with the look-up of mapping and table; {} stacks of 16 KiB, {:.1f} frames each "
                           "(libunwind: {:.1f})",
                           stacks, static_cast<double>(agreement.ours) / stacks,
                           static_cast<double>(agreement.theirs) / stacks)});
  report.add({.name = "walked-frame-ns",
              .value = medians[1],
              .unit = "ns",
              .peer = peer,
              .peer_value = medians[2],
              .goal = kGoalNs,
              .note = "the walker alone, its code map's answers noted beforehand"});
  report.add({.name = "unwound-frames-equal-share",
              .value = static_cast<double>(agreement.equal) / static_cast<double>(agreement.compared),
              .unit = "share",
              .better = Better::kHigher,
              .note = fmt::format("of {} frames that we and libunwind both found", agreement.compared)});
  return {};
}

}  // namespace plimsoll::bench
