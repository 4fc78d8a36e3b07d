#include "daemon/bursts/stack_collector.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <iterator>
#include <ranges>

#include "elf/elf_file.h"

namespace plimsoll::bursts {
namespace {

using traces::BurstAddressKind;
using traces::BurstFrame;

constexpr uint32_t kNoFrame = UINT32_MAX;
constexpr std::string_view kUnknownCode = "[unknown]";
constexpr std::string_view kCodeWithoutFile = "[jit]";

std::string symbol_at(const identity::KernelImage& image, uint64_t offset) {
  const auto after =
      std::ranges::upper_bound(image.symbols, offset, {}, &identity::KernelImage::Symbol::offset);
  return after == image.symbols.begin() ? std::string() : std::prev(after)->name;
}

}  // namespace

StackCollector::StackCollector(const identity::ProcessSource& source, const identity::ImageSource& images,
                               const identity::KernelCode* kernel, size_t max_nodes)
    : source_(source), kernel_(kernel), max_nodes_(max_nodes), binaries_(images) {}

uint32_t StackCollector::stack_of(uint32_t pid, std::span<const uint64_t> chain) {
  chain_.clear();
  FramesByAddress& known = frames_by_pid_[pid];
  bool in_kernel = false;
  bool is_first = true;  // of its part: an instruction pointer; those after it are return addresses
  for (const uint64_t entry : chain) {
    if (entry >= PERF_CONTEXT_MAX) {
      in_kernel = entry == PERF_CONTEXT_KERNEL;
      is_first = true;
      continue;
    }
    // A return address may be the first byte of the next function; the call lies before it.
    const uint64_t address = is_first ? entry : entry - 1;
    is_first = false;
    const uint32_t frame = in_kernel ? kernel_frame(address) : user_frame(pid, address, known);
    if (frame == kNoFrame) {
      return 0;
    }
    const bool is_repeated = !chain_.empty() && chain_.back() == frame && stacks_.frames[frame].address == 0;
    if (!is_repeated && chain_.size() < traces::kMaxBurstStackDepth) {
      chain_.push_back(frame);
    }
  }
  uint32_t stack = 0;
  for (const uint32_t frame : std::views::reverse(chain_)) {
    const auto next = stack_with(stack, frame);
    if (!next) {
      return 0;
    }
    stack = *next;
  }
  return stack;
}

std::optional<uint32_t> StackCollector::stack_with(uint32_t caller, uint32_t frame) {
  const uint64_t key = uint64_t{caller} << 32U | frame;
  if (const auto found = node_numbers_.find(key); found != node_numbers_.end()) {
    return found->second;
  }
  if (stacks_.nodes.size() >= max_nodes_) {
    return std::nullopt;
  }
  stacks_.nodes.push_back({.frame = frame, .caller = caller});
  const auto number = static_cast<uint32_t>(stacks_.nodes.size());
  node_numbers_.emplace(key, number);
  return number;
}

uint32_t StackCollector::kernel_frame(uint64_t address) {
  if (const auto known = kernel_frames_.find(address); known != kernel_frames_.end()) {
    return known->second;
  }
  const auto place = kernel_ == nullptr ? std::nullopt : kernel_->find(address);
  if (!place) {
    return frame_without_address(identity::kKernelExecutable);
  }
  if (place->stub != nullptr) {
    return frame_without_address(place->stub->name);
  }
  const identity::KernelImage& image = *place->image;
  const uint32_t frame = frame_of({.address = place->offset,
                                   .binary = binary_of(&image, image.name, image.build_id),
                                   .kind = BurstAddressKind::kKernel,
                                   .function = symbol_at(image, place->offset)});
  if (frame != kNoFrame) {
    kernel_frames_.emplace(address, frame);
  }
  return frame;
}

uint32_t StackCollector::user_frame(uint32_t pid, uint64_t address, FramesByAddress& known) {
  if (const auto found = known.find(address); found != known.end()) {
    return found->second;
  }
  if (!processes_) {
    processes_.emplace(source_, binaries_, /*cgroup_mounts=*/"");
  }
  const identity::Mapping* const mapping = processes_->find(pid).mappings->find(address);
  if (mapping == nullptr) {
    return frame_without_address(kUnknownCode);
  }
  if (mapping->binary == nullptr) {
    return frame_without_address(kCodeWithoutFile);
  }
  const identity::BinaryInfo& binary = *mapping->binary;
  const uint64_t offset = address - mapping->start + mapping->file_offset;
  const auto elf_address = elf::address_of(binary.segments, offset);
  const uint32_t frame =
      frame_of({.address = elf_address.value_or(offset),
                .binary = binary_of(&binary, binary.path, binary.identity),
                .kind = elf_address ? BurstAddressKind::kElf : BurstAddressKind::kFileOffset,
                .function = {}});
  if (frame != kNoFrame) {
    known.emplace(address, frame);
  }
  return frame;
}

uint32_t StackCollector::frame_without_address(std::string_view name) {
  return frame_of({.address = 0,
                   .binary = binary_of(nullptr, name, {}),
                   .kind = BurstAddressKind::kFileOffset,
                   .function = std::string(name)});
}

uint32_t StackCollector::frame_of(BurstFrame frame) {
  auto key = std::tuple(frame.binary, frame.kind, frame.address, frame.function);
  if (const auto found = frame_numbers_.find(key); found != frame_numbers_.end()) {
    return found->second;
  }
  // Each is in a node: more of them than nodes are of no use.
  if (stacks_.frames.size() >= max_nodes_) {
    return kNoFrame;
  }
  const auto number = static_cast<uint32_t>(stacks_.frames.size());
  stacks_.frames.push_back(std::move(frame));
  frame_numbers_.emplace(std::move(key), number);
  return number;
}

uint32_t StackCollector::binary_of(const void* key, std::string_view path, std::string_view build_id) {
  const auto [found, is_new] =
      binary_numbers_.try_emplace(std::pair(key, std::string(key == nullptr ? path : std::string_view())),
                                  static_cast<uint32_t>(stacks_.binaries.size()));
  if (is_new) {
    stacks_.binaries.push_back({.path = std::string(path), .build_id = std::string(build_id)});
  }
  return found->second;
}

void StackCollector::end_burst() {
  processes_.reset();
  frames_by_pid_.clear();
}

traces::BurstStacks StackCollector::take() {
  end_burst();
  binary_numbers_.clear();
  frame_numbers_.clear();
  kernel_frames_.clear();
  node_numbers_.clear();
  if (binaries_.has_too_many()) {
    (void)binaries_.forget_unused({});
  }
  return std::exchange(stacks_, {});
}

}  // namespace plimsoll::bursts
