#include "formats/perfetto/stacks.h"

#include <ranges>
#include <string>
#include <vector>

#include "base/printable.h"
#include "formats/perfetto/fields.h"

namespace plimsoll::formats::perfetto {

using traces::BurstRecording;

uint64_t Stacks::mapping(const BurstRecording& recording, uint32_t index) {
  const auto [found, is_new] = mappings_.try_emplace(OfRecording(&recording, index), mappings_.size() + 1);
  if (is_new) {
    const traces::BurstBinary& binary = recording.stacks.binaries[index];
    WireMessage entry;
    entry.number(field::kInternedId, found->second);
    if (!binary.build_id.empty()) {
      entry.number(field::kMappingBuildId, out_.text_id(field::kInternedBuildIds, binary.build_id));
    }
    entry.number(field::kMappingPath, out_.text_id(field::kInternedMappingPaths, printable(binary.path)));
    out_.add_interned(field::kInternedMappings, entry);
  }
  return found->second;
}

uint64_t Stacks::frame(const BurstRecording& recording, uint32_t index) {
  const auto [found, is_new] = frames_.try_emplace(OfRecording(&recording, index), frames_.size() + 1);
  if (is_new) {
    const traces::BurstFrame& one = recording.stacks.frames[index];
    const std::string name = printable(name_of_frame(recording.stacks, index));
    WireMessage entry;
    entry.number(field::kInternedId, found->second);
    entry.number(field::kFrameFunction, out_.text_id(field::kInternedFunctions, name));
    entry.number(field::kFrameMapping, mapping(recording, one.binary));
    entry.number(field::kFrameRelativePc, one.address);
    out_.add_interned(field::kInternedFrames, entry);
  }
  return found->second;
}

// The outermost frame comes first.
uint64_t Stacks::callstack(const BurstRecording& recording, uint64_t stack) {
  const auto [found, is_new] =
      callstacks_.try_emplace(OfRecording(&recording, stack), callstacks_.size() + 1);
  if (is_new) {
    std::vector<uint64_t> frames;
    recording.stacks.for_each_frame(stack,
                                    [&](uint32_t index) { frames.push_back(frame(recording, index)); });
    WireMessage entry;
    entry.number(field::kInternedId, found->second);
    for (const uint64_t one : std::views::reverse(frames)) {
      entry.number(field::kCallstackFrame, one);
    }
    out_.add_interned(field::kInternedCallstacks, entry);
  }
  return found->second;
}

}  // namespace plimsoll::formats::perfetto
