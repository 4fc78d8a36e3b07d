#include <cmath>

#include "formats/gperftools_writer.h"
#include "query/export/samples.h"
#include "query/snapshot/dimension.h"

namespace plimsoll::query {
namespace {

// Leaf first, each inlined frame before the one that it was inlined into.
std::vector<std::string> names_of(const ExportSamples& samples, const Snapshot& snapshot, uint32_t stack) {
  const std::span<const store::StackNode> stacks = stacks_of(samples, snapshot);
  std::vector<std::string> names;
  for (uint32_t node = stack; node != 0; node = stacks[node].parent) {
    const uint32_t location = stacks[node].location;
    for (uint32_t depth = 0; depth < frames_of(snapshot, location); ++depth) {
      if (is_shown(samples, {location, depth})) {
        names.push_back(frame_value(snapshot, "function", {location, depth}));
      }
    }
  }
  if (names.empty()) {
    names.push_back(frame_value(snapshot, "function", {}));
  }
  return names;
}

}  // namespace

Result<std::string> export_gperftools(const ExportRequest& request, const Snapshot& snapshot) {
  if (request.events.size() > 1) {
    return with_field(
        fail(ErrorCode::kInvalid, "a gperftools profile has one event, not {}", request.events.size()),
        "event");
  }
  const auto samples = read_samples(request, snapshot);
  if (!samples) {
    return propagate(samples);
  }
  formats::GperftoolsWriter writer;
  for (const SampleValue& sample : samples->values) {
    const auto names = names_of(*samples, snapshot, sample.key.stack);
    const std::vector<std::string_view> views(names.begin(), names.end());
    writer.add_sample(views, static_cast<uint64_t>(std::max(0LL, std::llround(sample.value))));
  }
  return writer.finish(
      fmt::format("plimsoll {}", snapshot.dictionaries.events[samples->events.front()].name));
}

}  // namespace plimsoll::query
