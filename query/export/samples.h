// What an export writes, apart from how it is written: for this folder's sources.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "query/export/export.h"
#include "query/snapshot/frame_place.h"
#include "query/snapshot/hidden_frames.h"

namespace plimsoll::query {

// Indexes into ExportSamples' tables; thread, labels and stack are dictionary IDs.
struct SampleKey {
  uint32_t machine = 0;
  uint32_t program = 0;
  uint32_t thread = 0;
  uint32_t labels = 0;
  uint32_t stack = 0;
  auto operator<=>(const SampleKey&) const = default;
};

struct SampleValue {
  SampleKey key;
  uint32_t event = 0;  // index into ExportSamples::events
  double value = 0;    // as top shows it
  double samples = 0;  // behind it
};

struct ExportSamples {
  // Frames that are not to be written; absent: none.
  std::shared_ptr<const HiddenFrames> hidden;
  std::vector<uint32_t> events;  // dictionary IDs
  std::vector<std::string> machines{""};
  std::vector<std::pair<std::string, std::string>> programs{{}};  // job and app
  std::vector<SampleValue> values;                                // by key, then event
  std::vector<Coverage> coverages;                                // by event
  std::vector<std::string> notes;
};

// The stacks by ID, without what is hidden.
std::span<const store::StackNode> stacks_of(const ExportSamples& samples, const Snapshot& snapshot);
bool is_shown(const ExportSamples& samples, FramePlace place);

// What tells samples apart, beside their stack.
enum class SampleKeys : uint8_t { kStack, kAll };

// kTooLarge past 5 million samples for each (event, key), or as many as fit into a sixteenth of the memory that this process may have: one takes
// about 100 bytes.
Result<ExportSamples> read_samples(const ExportRequest& request, SampleKeys keys, const Snapshot& snapshot);

}  // namespace plimsoll::query
