#include "traces/bursts/recording/stacks_codec.h"

#include <algorithm>
#include <vector>

namespace plimsoll::traces {
namespace {

constexpr uint64_t kMaxBinaries = 1'000'000;
constexpr uint64_t kMaxFrames = 4'000'000;
constexpr uint64_t kMaxStackNodes = 16'000'000;
constexpr uint64_t kMinBinaryBytes = 2;
constexpr uint64_t kMinFrameBytes = 4;
constexpr uint64_t kMinStackNodeBytes = 2;

// That no index leads to a table that is empty.
bool has_whole_stacks(const BurstStacks& stacks) {
  return (stacks.frames.empty() || !stacks.binaries.empty()) &&
         (stacks.nodes.empty() || !stacks.frames.empty());
}

}  // namespace

void write_stacks(const BurstStacks& stacks, VarintWriter& out) {
  out.number(stacks.binaries.size());
  for (const BurstBinary& binary : stacks.binaries) {
    out.text(binary.path);
    out.text(binary.build_id);
  }
  out.number(stacks.frames.size());
  for (const BurstFrame& frame : stacks.frames) {
    out.number(static_cast<uint64_t>(frame.kind));
    out.number(frame.binary);
    out.number(frame.address);
    out.text(frame.function);
  }
  out.number(stacks.nodes.size());
  for (const BurstStackNode& node : stacks.nodes) {
    out.number(node.frame);
    out.number(node.caller);
  }
}

Result<BurstStacks> read_stacks(uint64_t& bytes_left, VarintReader& in) {
  const auto count = [&](uint64_t max, uint64_t min_bytes, size_t size) {
    const uint64_t counted = in.count(std::min<uint64_t>(max, bytes_left / size), min_bytes);
    bytes_left -= counted * size;
    return counted;
  };
  BurstStacks stacks;
  stacks.binaries.resize(count(kMaxBinaries, kMinBinaryBytes, sizeof(BurstBinary)));
  for (BurstBinary& binary : stacks.binaries) {
    binary.path = in.text();
    binary.build_id = in.text();
  }
  stacks.frames.resize(count(kMaxFrames, kMinFrameBytes, sizeof(BurstFrame)));
  const uint64_t last_binary = stacks.binaries.empty() ? 0 : stacks.binaries.size() - 1;
  for (BurstFrame& frame : stacks.frames) {
    frame.kind = static_cast<BurstAddressKind>(in.number_up_to(kBurstAddressKinds - 1));
    frame.binary = static_cast<uint32_t>(in.number_up_to(last_binary));
    frame.address = in.number();
    frame.function = in.text();
  }
  stacks.nodes.resize(count(kMaxStackNodes, kMinStackNodeBytes, sizeof(BurstStackNode)));
  const uint64_t last_frame = stacks.frames.empty() ? 0 : stacks.frames.size() - 1;
  std::vector<uint16_t> depths{0};
  depths.reserve(stacks.nodes.size() + 1);
  for (BurstStackNode& node : stacks.nodes) {
    node.frame = static_cast<uint32_t>(in.number_up_to(last_frame));
    node.caller = static_cast<uint32_t>(in.number_up_to(depths.size() - 1));
    if (depths[node.caller] >= kMaxBurstStackDepth) {
      return fail(ErrorCode::kCorrupt, "a stack of samples has over {} frames", kMaxBurstStackDepth);
    }
    depths.push_back(static_cast<uint16_t>(depths[node.caller] + 1));
  }
  if (!has_whole_stacks(stacks)) {
    return fail(ErrorCode::kCorrupt, "stacks of samples are of no frame, or frames of no binary");
  }
  return stacks;
}

}  // namespace plimsoll::traces
