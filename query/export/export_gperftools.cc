#include <cmath>

#include "base/process_memory.h"
#include "base/stop_scope.h"
#include "formats/gperftools_writer.h"
#include "query/export/samples.h"
#include "query/snapshot/dimension.h"

namespace plimsoll::query {
namespace {

// What google-pprof, which holds a profile in hashes of Perl, reads in minutes.
constexpr uint64_t kMaxBytes = uint64_t{1} << 30;

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
  // The format has no place for what else tells samples apart.
  const auto samples = read_samples(request, SampleKeys::kStack, snapshot);
  if (!samples) {
    return propagate(samples);
  }
  formats::GperftoolsWriter writer(memory_share(kMaxBytes, 32));
  for (const SampleValue& sample : samples->values) {
    const auto names = names_of(*samples, snapshot, sample.key.stack);
    const std::vector<std::string_view> views(names.begin(), names.end());
    const auto count = static_cast<uint64_t>(std::max(0LL, std::llround(sample.value)));
    auto done = check_stop();
    if (done) {
      done = writer.add_sample(views, count);
    }
    if (!done) {
      return propagate(done);
    }
  }
  return writer.finish(
      fmt::format("plimsoll {}", snapshot.dictionaries.events[samples->events.front()].name));
}

}  // namespace plimsoll::query
