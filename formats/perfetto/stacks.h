// Stacks of samples in a trace of Perfetto: mappings, frames and call stacks, each said once. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "formats/perfetto/packet_writer.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::formats::perfetto {

// Stacks have the numbers of their recording, which stays where it is meanwhile.
class Stacks {
 public:
  explicit Stacks(PacketWriter& out) : out_(out) {}

  // What a sample names.
  uint64_t callstack(const traces::BurstRecording& recording, uint64_t stack);

 private:
  using OfRecording = std::pair<const traces::BurstRecording*, uint64_t>;

  uint64_t frame(const traces::BurstRecording& recording, uint32_t index);
  uint64_t mapping(const traces::BurstRecording& recording, uint32_t index);

  PacketWriter& out_;
  std::map<OfRecording, uint64_t> mappings_;
  std::map<OfRecording, uint64_t> frames_;
  std::map<OfRecording, uint64_t> callstacks_;
};

}  // namespace plimsoll::formats::perfetto
