// From the call chains of samples to the stacks of a recording: which binaries processes have mapped where, and which function of
// the kernel it is. Of users' code addresses alone: names come from symbol tables, elsewhere. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/identity/binaries.h"
#include "capture/identity/image.h"
#include "capture/identity/kernel.h"
#include "capture/identity/proc_fs.h"
#include "capture/identity/processes.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::bursts {

class StackCollector {
 public:
  // Borrows all. `kernel` null: its addresses are hidden. Beyond `max_nodes` samples have no stack.
  StackCollector(const identity::ProcessSource& source, const identity::ImageSource& images,
                 const identity::KernelCode* kernel, size_t max_nodes);

  // The stack's number in what take() returns; 0: it is empty, or there is no room. `chain` as perf has it: the innermost first, with
  // PERF_CONTEXT_* marks. A process is read when its first sample of a burst comes, which takes some ms: code of one that has ended by
  // then is unknown.
  uint32_t stack_of(uint32_t pid, std::span<const uint64_t> chain);

  // By the next burst processes may have mapped something else.
  void end_burst();

  // Those of all bursts since the last call.
  traces::BurstStacks take();

 private:
  using FramesByAddress = std::unordered_map<uint64_t, uint32_t>;

  uint32_t kernel_frame(uint64_t address);
  uint32_t user_frame(uint32_t pid, uint64_t address, FramesByAddress& known);
  // The place stands for all code of that name.
  uint32_t frame_without_address(std::string_view name);
  uint32_t frame_of(traces::BurstFrame frame);
  uint32_t binary_of(const void* key, std::string_view path, std::string_view build_id);
  std::optional<uint32_t> stack_with(uint32_t caller, uint32_t frame);

  const identity::ProcessSource& source_;
  const identity::KernelCode* const kernel_;
  const size_t max_nodes_;
  identity::BinaryTable binaries_;
  // Of this burst, as the next.
  std::optional<identity::ProcessTable> processes_;
  std::unordered_map<uint32_t, FramesByAddress> frames_by_pid_;

  traces::BurstStacks stacks_;
  std::map<std::pair<const void*, std::string>, uint32_t> binary_numbers_;
  std::map<std::tuple<uint32_t, traces::BurstAddressKind, uint64_t, std::string>, uint32_t> frame_numbers_;
  FramesByAddress kernel_frames_;
  std::unordered_map<uint64_t, uint32_t> node_numbers_;  // of stacks, by caller << 32 | frame
  std::vector<uint32_t> chain_;                          // frames, the innermost first
};

}  // namespace plimsoll::bursts
