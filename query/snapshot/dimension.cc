#include "query/snapshot/dimension.h"

#include <algorithm>
#include <vector>

#include "base/suggest.h"
#include "query/snapshot/machine_attributes.h"
#include "store/model/label_set.h"

namespace plimsoll::query {
namespace {

bool has_binary(const store::LocationEntry& location) {
  switch (location.kind) {
    case wire::ELF:
    case wire::ELF_FILE_OFFSET:
    case wire::KERNEL:
    case wire::MODULE:
      return true;
    default:
      return false;
  }
}

std::string binary_name(const Snapshot& snapshot, uint32_t location) {
  const store::LocationEntry& entry = snapshot.dictionaries.locations[location];
  if (const auto binary = binary_id_of(snapshot, location)) {
    return std::string(file_name_of(snapshot.dictionaries.binaries[*binary]));
  }
  switch (entry.kind) {
    case wire::JIT:
      return "[jit]";
    case wire::BPF:
      return "[bpf]";
    case wire::UNRESOLVED:
      return "[unresolved]";
    default:
      return "";
  }
}

// Why a stack has no more callers.
std::string_view reason_text(wire::StackProblem problem) {
  switch (problem) {
    case wire::NOT_IN_A_MAPPING:
      return "a return address outside code";
    case wire::TOO_DEEP:
      return "too deep";
    case wire::NO_USER_STACK:
      return "no user stack";
    case wire::TRUNCATED_STACK_COPY:
      return "the stack copy is too short";
    case wire::NO_UNWIND_INFORMATION:
      return "no unwind information";
    case wire::OUTSIDE_STACK:
      return "leads outside the stack";
    case wire::DAMAGED_UNWIND_INFORMATION:
      return "damaged unwind information";
    case wire::BINARY_OUT_OF_REACH:
      return "the binary was not readable";
    case wire::UNSUPPORTED_ABI:
      return "a 32-bit process";
    case wire::STACK_NOT_TAKEN:
      return "stack not taken";
    default:
      return "unknown reason";
  }
}

std::string function_name(const Snapshot& snapshot, FramePlace place) {
  const auto frames = snapshot.bindings.of(place.location);
  if (place.depth < frames.size()) {
    return snapshot.bindings.functions[frames[place.depth].function];
  }
  const store::LocationEntry& location = snapshot.dictionaries.locations[place.location];
  if (location.kind == wire::UNFINISHED) {
    return fmt::format("[unfinished: {}]", reason_text(static_cast<wire::StackProblem>(location.address)));
  }
  const std::string binary = binary_name(snapshot, place.location);
  return binary.empty() ? "[unknown]" : fmt::format("[no symbol in {}]", binary);
}

// The function's name for people where it is all that is known.
std::string linkage_name(const Snapshot& snapshot, FramePlace place) {
  const auto frames = snapshot.bindings.of(place.location);
  if (place.depth >= frames.size()) {
    return function_name(snapshot, place);
  }
  const std::string& linked = snapshot.bindings.linkage_names[frames[place.depth].function];
  return linked.empty() ? function_name(snapshot, place) : linked;
}

std::string origin_value(const Snapshot& snapshot, std::string_view dimension, uint32_t origin) {
  const store::OriginEntry& entry = snapshot.dictionaries.origins[origin];
  const auto attribute = machine_value(snapshot.dictionaries.machines[entry.machine], dimension);
  return attribute ? std::string(*attribute) : entry.draw;
}

std::string workload_value(const store::WorkloadEntry& entry, std::string_view dimension) {
  if (dimension == "job") {
    return entry.job;
  }
  if (dimension == "instance") {
    return entry.instance;
  }
  if (dimension == "app") {
    return entry.app;
  }
  if (dimension == "image") {
    return entry.image;
  }
  if (dimension == "build_id") {
    return entry.build_id;
  }
  if (dimension == "revision") {
    return entry.revision;
  }
  return dimension == "compiler" ? entry.compiler : entry.builder;
}

}  // namespace

std::span<const Dimension> dimensions() {
  static const std::vector<Dimension> all{
      {"machine", DimensionSource::kOrigin, "machine ID"},
      {"hostname", DimensionSource::kOrigin, "the machine's host name"},
      {"datacenter", DimensionSource::kOrigin, "as configured on the machine"},
      {"cluster", DimensionSource::kOrigin, "as configured on the machine"},
      {"platform", DimensionSource::kOrigin, "CPU generation"},
      {"cpu_model", DimensionSource::kOrigin, "CPU model as the CPU reports it"},
      {"architecture", DimensionSource::kOrigin, "x86_64, aarch64, ..."},
      {"kernel", DimensionSource::kOrigin, "kernel release"},
      {"kernel_build_id", DimensionSource::kOrigin, "build ID of the running kernel"},
      {"os", DimensionSource::kOrigin, "operating system and its version"},
      {"daemon_version", DimensionSource::kOrigin, "version of the plimsolld that sent the profile"},
      {"draw", DimensionSource::kOrigin, "the random selection that the profile belongs to"},
      {"job", DimensionSource::kWorkload, "the same binary doing the same work on many machines"},
      {"instance", DimensionSource::kWorkload, "one copy of a job: container, unit or control group"},
      {"app", DimensionSource::kWorkload, "name of the executable"},
      {"image", DimensionSource::kWorkload, "container image"},
      {"build_id", DimensionSource::kWorkload, "of the executable"},
      {"revision", DimensionSource::kWorkload, "revision of the executable's source"},
      {"compiler", DimensionSource::kWorkload, "compiler that built the executable"},
      {"builder", DimensionSource::kWorkload, "build system that built the executable"},
      {"thread", DimensionSource::kThread, "name of the thread"},
      {"function", DimensionSource::kFrame, "function of a frame; as a filter: anywhere on the stack"},
      {"linkage_name", DimensionSource::kFrame, "mangled name of a frame's function: distinguishes clones"},
      {"file", DimensionSource::kFrame, "source file of a frame"},
      {"line", DimensionSource::kFrame, "source file and line of a frame, \"path:line\""},
      {"binary", DimensionSource::kFrame, "binary of a frame: executable, library, kernel"},
      {"stack", DimensionSource::kStack, "the whole stack, outermost function first"},
  };
  return all;
}

Result<Dimension> find_dimension(std::string_view name) {
  const auto found = std::ranges::find(dimensions(), name, &Dimension::name);
  if (found != dimensions().end()) {
    return *found;
  }
  if (name.starts_with(kLabelPrefix) && name.size() > kLabelPrefix.size()) {
    return Dimension{std::string(name), DimensionSource::kLabels, "value of a label"};
  }
  std::vector<std::string_view> names;
  for (const Dimension& dimension : dimensions()) {
    names.emplace_back(dimension.name);
  }
  names.emplace_back("label:KEY");
  const auto nearest = nearest_word(name, names);
  return with_hint(fail(ErrorCode::kInvalid, "no such dimension: \"{}\"", name),
                   nearest ? fmt::format("did you mean {}?", *nearest)
                           : fmt::format("the dimensions are {}", fmt::join(names, ", ")));
}

size_t entries_of(const Snapshot& snapshot, Column column) {
  const store::Dictionaries& dictionaries = snapshot.dictionaries;
  switch (column) {
    case Column::kEvent:
      return dictionaries.events.size();
    case Column::kOrigin:
      return dictionaries.origins.size();
    case Column::kWorkload:
      return dictionaries.workloads.size();
    case Column::kThread:
      return dictionaries.threads.size();
    case Column::kLabels:
      return dictionaries.label_sets.size();
    case Column::kStack:
      break;
  }
  return dictionaries.stacks.size();
}

std::string entry_value(const Snapshot& snapshot, const Dimension& dimension, uint32_t id) {
  const store::Dictionaries& dictionaries = snapshot.dictionaries;
  switch (dimension.source) {
    case DimensionSource::kOrigin:
      return origin_value(snapshot, dimension.name, id);
    case DimensionSource::kWorkload:
      return workload_value(dictionaries.workloads[id], dimension.name);
    case DimensionSource::kThread:
      return dictionaries.threads[id];
    case DimensionSource::kLabels:
      return std::string(store::label_value(dictionaries.label_sets[id], dimension.label_key()));
    case DimensionSource::kFrame:
    case DimensionSource::kStack:
      break;
  }
  return {};
}

std::string_view file_name_of(const store::BinaryEntry& binary) {
  const std::string_view path = binary.path;
  return path.substr(path.rfind('/') + 1);
}

std::optional<uint32_t> binary_id_of(const Snapshot& snapshot, uint32_t location) {
  const store::LocationEntry& entry = snapshot.dictionaries.locations[location];
  return has_binary(entry) ? std::optional(entry.owner) : std::nullopt;
}

size_t frames_of(const Snapshot& snapshot, uint32_t location) {
  return std::max<size_t>(1, snapshot.bindings.of(location).size());
}

std::string frame_value(const Snapshot& snapshot, std::string_view dimension, FramePlace place) {
  if (place.location == 0) {
    return "[no stack]";
  }
  if (dimension == "function") {
    return function_name(snapshot, place);
  }
  if (dimension == "linkage_name") {
    return linkage_name(snapshot, place);
  }
  if (dimension == "binary") {
    return binary_name(snapshot, place.location);
  }
  const auto frames = snapshot.bindings.of(place.location);
  if (place.depth >= frames.size()) {
    return {};
  }
  const auto& frame = frames[place.depth];
  const std::string& file = snapshot.bindings.files[frame.file];
  if (dimension == "file") {
    return file;
  }
  return frame.line == 0 ? std::string() : fmt::format("{}:{}", file, frame.line);
}

std::string stack_value(const Snapshot& snapshot, uint32_t stack, const HiddenFrames* hidden) {
  const std::span<const store::StackNode> stacks =
      hidden == nullptr ? snapshot.dictionaries.stacks.span() : std::span(hidden->stacks());
  std::vector<std::string> names;
  for (uint32_t node = stack; node != 0; node = stacks[node].parent) {
    const uint32_t location = stacks[node].location;
    for (uint32_t depth = 0; location != 0 && depth < frames_of(snapshot, location); ++depth) {
      if (hidden == nullptr || !hidden->is_hidden({location, depth})) {
        names.push_back(function_name(snapshot, {location, depth}));
      }
    }
  }
  std::ranges::reverse(names);
  return names.empty() ? "[no stack]" : fmt::format("{}", fmt::join(names, ";"));
}

}  // namespace plimsoll::query
