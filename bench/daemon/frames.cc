#include <array>

#include "bench/daemon/capture.h"
#include "bench/daemon/libunwind_peer.h"
#include "bench/daemon/load.h"
#include "bench/daemon/parts.h"
#include "bench/harness/statistics.h"
#include "daemon/profile/user_stacks.h"

namespace plimsoll::bench {
namespace {

constexpr double kGoalNs = 100;

using Stacks = std::vector<std::vector<uint64_t>>;

// Unwinds all samples, `passes` times; returns the CPU time of a frame.
template <typename Unwind>
double frame_ns(const std::vector<CapturedSample>& samples, int passes, Unwind unwind) {
  size_t frames = 0;
  const int64_t start_ns = thread_cpu_ns();
  for (int pass = 0; pass < passes; ++pass) {
    for (const CapturedSample& sample : samples) {
      frames += unwind(sample);
    }
  }
  const auto elapsed_ns = static_cast<double>(thread_cpu_ns() - start_ns);
  return elapsed_ns / static_cast<double>(std::max<size_t>(frames, 1));
}

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
  const std::vector<CapturedSample>& samples = capture.samples();
  UserStacks user_stacks(capture.images());
  LibunwindPeer libunwind;
  UserStack stack;
  std::vector<uint64_t> instructions;
  const auto ours = [&](const CapturedSample& captured) {
    user_stacks.unwind(captured.sample, {}, captured.process, stack);
    return stack.addresses.size();
  };
  const auto theirs = [&](const CapturedSample& captured) {
    libunwind.unwind(captured, instructions);
    return instructions.size();
  };
  Agreement agreement;
  for (const CapturedSample& captured : samples) {  // which warms both
    ours(captured);
    theirs(captured);
    agreement.add(stack.addresses, instructions);
  }
  if (agreement.compared == 0) {
    return fail(ErrorCode::kNotFound, "none of {} samples could be unwound", samples.size());
  }
  const int passes = flags.quick ? 2 : 5;
  const std::array<std::function<double()>, 2> contenders{[&] { return frame_ns(samples, passes, ours); },
                                                          [&] { return frame_ns(samples, passes, theirs); }};
  const auto medians = interleaved_medians(flags.quick ? 5 : 11, contenders);
  const auto per_stack = [&](size_t frames) {
    return static_cast<double>(frames) / static_cast<double>(samples.size());
  };
  report.add(
      {.name = "unwound-frame-ns",
       .value = medians[0],
       .unit = "ns",
       .peer = "libunwind, unw_step remote, cached",
       .peer_value = medians[1],
       .goal = kGoalNs,
       .note = fmt::format("with the look-up of mapping and table; {} stacks of 16 KiB, {:.1f} frames each "
                           "(libunwind: {:.1f})",
                           samples.size(), per_stack(agreement.ours), per_stack(agreement.theirs))});
  report.add({.name = "unwound-frames-equal-share",
              .value = static_cast<double>(agreement.equal) / static_cast<double>(agreement.compared),
              .unit = "share",
              .better = Better::kHigher,
              .note = fmt::format("of {} frames that we and libunwind both found", agreement.compared)});
  return {};
}

}  // namespace plimsoll::bench
