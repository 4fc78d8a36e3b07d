#include <algorithm>
#include <cmath>
#include <set>

#include "proto/profile_codec.h"
#include "proto/sample_validation.h"
#include "proto/squares.h"
#include "proto/validation_checks.h"

namespace plimsoll::wire {
namespace {

constexpr size_t kMaxIdentityBytes = 64;

// Checks every string field of a message, without having to name them. `path` makes the message's own name, for failures alone:
// a profile has many texts.
template <typename Path>
Status check_texts(const google::protobuf::Message& message, const Path& path) {
  const auto* reflection = message.GetReflection();
  const auto* descriptor = message.GetDescriptor();
  std::string scratch;
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const auto* field = descriptor->field(i);
    if (field->type() != google::protobuf::FieldDescriptor::TYPE_STRING || field->is_repeated()) {
      continue;
    }
    const auto& text = reflection->GetStringReference(message, field, &scratch);
    if (!is_text(text)) {
      return check_text(text, fmt::format("{}.{}", path(), field->name()));
    }
  }
  return {};
}

template <typename List>
Status check_all_texts(const List& list, std::string_view name) {
  for (int i = 0; i < list.size(); ++i) {
    if (auto ok = check_texts(list[i], [&] { return fmt::format("{}[{}]", name, i); }); !ok) {
      return ok;
    }
  }
  return {};
}

Status check_machine(const Machine& machine) {
  if (machine.id().empty() || machine.id().size() > 128) {
    return invalid("machine.id", "a machine ID of {} bytes, not 1 to 128", machine.id().size());
  }
  if (machine.kernel_build_id().size() > kMaxIdentityBytes) {
    return invalid("machine.kernel_build_id", "{} bytes", machine.kernel_build_id().size());
  }
  return check_texts(machine, [] { return "machine"; });
}

Status check_bursts(const BurstRequest& bursts) {
  constexpr int kMaxBurstEvents = 100;
  if (bursts.events_size() > kMaxBurstEvents) {
    return invalid("assignment.bursts.events", "{} of them", bursts.events_size());
  }
  for (const std::string& event : bursts.events()) {
    if (!is_text(event)) {
      return check_text(event, "assignment.bursts.events");
    }
  }
  return {};
}

Status check_assignment(const Assignment& assignment) {
  const Draw& draw = assignment.draw();
  const double probability = draw.inclusion_probability();
  const bool unset = probability == 0 && draw.id().empty();
  const bool is_probability = probability > 0 && probability <= 1;  // NaN is none
  if (!unset && !is_probability) {
    return invalid("assignment.draw.inclusion_probability", "{} is not in (0, 1]", probability);
  }
  if (draw.interval_ns() < 0) {
    return invalid("assignment.draw.interval_ns", "{} is negative", draw.interval_ns());
  }
  if (assignment.turn_ns() < 0) {
    return invalid("assignment.turn_ns", "{} is negative", assignment.turn_ns());
  }
  constexpr int kMaxApplicationKinds = 100;
  if (assignment.application_kinds_size() > kMaxApplicationKinds) {
    return invalid("assignment.application_kinds", "{} of them", assignment.application_kinds_size());
  }
  for (const std::string& kind : assignment.application_kinds()) {
    if (!is_text(kind)) {
      return check_text(kind, "assignment.application_kinds");
    }
  }
  return first_failure({check_texts(assignment, [] { return "assignment"; }),
                        check_bursts(assignment.bursts()),
                        check_all_texts(assignment.events(), "assignment.events"),
                        check_texts(draw, [] { return "assignment.draw"; })});
}

Status check_window(const Window& window) {
  if (!window.has_start() || !window.has_end()) {
    return invalid("window", "start or end is missing");
  }
  if (window.end().monotonic_ns() <= window.start().monotonic_ns()) {
    return invalid("window.end", "it is not after the start");
  }
  // A wall clock may step backwards within a window; it must only be a time after 1970 that a query can name.
  constexpr int64_t kLatestNs = 4'000'000'000LL * 1'000'000'000LL;
  for (const ClockPair& pair : {window.start(), window.end()}) {
    if (pair.wall_ns() <= 0 || pair.wall_ns() > kLatestNs || pair.monotonic_ns() < 0 ||
        pair.monotonic_ns() > kLatestNs) {
      return invalid("window", "a wall time of {} ns with a monotonic time of {} ns", pair.wall_ns(),
                     pair.monotonic_ns());
    }
  }
  return {};
}

Status check_event(const Event& event, const std::string& path) {
  if (event.name().empty()) {
    return invalid(path + ".name", "an event without a name");
  }
  if (event.unit() == UNIT_UNSPECIFIED || !Unit_IsValid(event.unit())) {
    return invalid(path + ".unit", "unknown unit {}", static_cast<int>(event.unit()));
  }
  if (event.kind() == KIND_UNSPECIFIED || !Kind_IsValid(event.kind())) {
    return invalid(path + ".kind", "unknown kind {}", static_cast<int>(event.kind()));
  }
  if (!std::isfinite(event.counter_total()) || event.counter_total() < 0) {
    return invalid(path + ".counter_total", "{} is no count", event.counter_total());
  }
  if (event.time_running_ns() < 0 || event.time_enabled_ns() < event.time_running_ns()) {
    return invalid(path + ".time_running_ns", "running for {} ns of {} enabled", event.time_running_ns(),
                   event.time_enabled_ns());
  }
  constexpr double kLargestScale = 1e30;
  if (!(scale_of(event) < kLargestScale)) {
    return invalid(path + ".counter_total", "one sample stands for {}", scale_of(event));
  }
  if (event.ticks_due() > kMaxHits || event.lost() > kMaxHits) {
    return invalid(path + ".lost", "more samples than a machine can take");
  }
  if (event.samples() > event.hits()) {
    return invalid(path + ".samples", "{} samples with {} hits", event.samples(), event.hits());
  }
  return check_texts(event, [&] { return path; });
}

Status check_events(const RawProfile& profile) {
  std::set<std::string_view> names;
  for (int i = 0; i < profile.events_size(); ++i) {
    const std::string path = fmt::format("events[{}]", i);
    if (auto ok = check_event(profile.events(i), path); !ok) {
      return ok;
    }
    if (!names.insert(profile.events(i).name()).second) {
      return invalid(path + ".name", "event {} appears twice", profile.events(i).name());
    }
  }
  for (int i = 0; i < profile.events_size(); ++i) {
    const Event& event = profile.events(i);
    if (event.kind() == SQUARES && !names.contains(squared_event(event.name()))) {
      return invalid(fmt::format("events[{}].name", i), "{} is of the squares of no event of the profile",
                     event.name());
    }
  }
  return {};
}

Status check_binaries(const RawProfile& profile) {
  for (int i = 0; i < profile.binaries_size(); ++i) {
    const Binary& binary = profile.binaries(i);
    const bool has_identity = binary.identity_kind() != IDENTITY_UNKNOWN;
    if (!IdentityKind_IsValid(binary.identity_kind()) || has_identity == binary.identity().empty() ||
        binary.identity().size() > kMaxIdentityBytes) {
      return invalid(fmt::format("binaries[{}].identity", i), "kind {} with {} bytes",
                     static_cast<int>(binary.identity_kind()), binary.identity().size());
    }
  }
  return check_all_texts(profile.binaries(), "binaries");
}

Status check_processes(const RawProfile& profile) {
  for (int i = 0; i < profile.processes_size(); ++i) {
    const Process& process = profile.processes(i);
    if (process.binary_plus_1() > static_cast<uint32_t>(profile.binaries_size())) {
      return invalid(fmt::format("processes[{}].binary_plus_1", i), "index {} of {}",
                     process.binary_plus_1() - 1, profile.binaries_size());
    }
    if (auto ok = check_labels(process.labels(), fmt::format("processes[{}].labels", i)); !ok) {
      return ok;
    }
  }
  for (int i = 0; i < profile.threads_size(); ++i) {
    if (profile.threads(i).process() >= static_cast<uint32_t>(profile.processes_size())) {
      return invalid(fmt::format("threads[{}].process", i), "index {} of {}", profile.threads(i).process(),
                     profile.processes_size());
    }
  }
  return first_failure(
      {check_all_texts(profile.processes(), "processes"), check_all_texts(profile.threads(), "threads")});
}

Status check_mappings(const RawProfile& profile) {
  for (int i = 0; i < profile.mappings_size(); ++i) {
    const Mapping& mapping = profile.mappings(i);
    if (mapping.process() >= static_cast<uint32_t>(profile.processes_size()) ||
        mapping.binary() >= static_cast<uint32_t>(profile.binaries_size())) {
      return invalid(fmt::format("mappings[{}]", i), "process {} of {}, binary {} of {}", mapping.process(),
                     profile.processes_size(), mapping.binary(), profile.binaries_size());
    }
    if (mapping.size_bytes() > UINT64_MAX - mapping.start()) {
      return invalid(fmt::format("mappings[{}].size_bytes", i), "it ends beyond the address space");
    }
  }
  return {};
}

// How many entries a location's owner may point into.
uint64_t owners_of(const RawProfile& profile, int kind) {
  switch (kind) {
    case ELF:
    case ELF_FILE_OFFSET:
    case KERNEL:
    case MODULE:
      return static_cast<uint64_t>(profile.binaries_size());
    case JIT:
      return static_cast<uint64_t>(profile.processes_size());
    default:
      return 1;
  }
}

Status check_locations(const RawProfile& profile) {
  const Locations& locations = profile.locations();
  if (auto ok =
          first_failure({check_length(locations.owner_size(), locations.kind_size(), "locations.owner"),
                         check_length(locations.address_size(), locations.kind_size(), "locations.address")});
      !ok) {
    return ok;
  }
  for (int i = 0; i < locations.kind_size(); ++i) {
    const int kind = locations.kind(i);
    if (kind == LOCATION_UNSPECIFIED || !LocationKind_IsValid(kind)) {
      return invalid(fmt::format("locations.kind[{}]", i), "unknown kind {}", kind);
    }
    if (locations.owner(i) >= owners_of(profile, kind)) {
      return invalid(fmt::format("locations.owner[{}]", i), "index {} of {}", locations.owner(i),
                     owners_of(profile, kind));
    }
    if (kind == UNFINISHED &&
        (locations.address(i) > INT32_MAX || !StackProblem_IsValid(static_cast<int>(locations.address(i))))) {
      return invalid(fmt::format("locations.address[{}]", i), "no such reason: {}", locations.address(i));
    }
    const bool is_named = kind == NAMED || kind == BPF;
    if (is_named && locations.address(i) >= static_cast<uint64_t>(profile.frames_size())) {
      return invalid(fmt::format("locations.address[{}]", i), "frame {} of {}", locations.address(i),
                     profile.frames_size());
    }
    // Chains that share their tails would cost the text of each tail again: half the square of their length.
    const auto frame = static_cast<int>(locations.address(i));
    if (is_named && frame > 0 && profile.frames(frame - 1).inlined_into_next()) {
      return invalid(fmt::format("locations.address[{}]", i), "frame {} is not the innermost of its chain",
                     frame);
    }
  }
  constexpr int kDeepestInlining = 256;
  int inlined = 0;
  for (int i = 0; i < profile.frames_size(); ++i) {
    inlined = profile.frames(i).inlined_into_next() ? inlined + 1 : 0;
    if (inlined > kDeepestInlining) {
      return invalid(fmt::format("frames[{}]", i), "more than {} frames inlined into one another",
                     kDeepestInlining);
    }
  }
  if (profile.frames_size() > 0 && profile.frames(profile.frames_size() - 1).inlined_into_next()) {
    return invalid("frames", "the last frame is inlined into a missing one");
  }
  return check_all_texts(profile.frames(), "frames");
}

Status check_stacks(const RawProfile& profile) {
  const Stacks& stacks = profile.stacks();
  if (auto ok = check_length(stacks.location_size(), stacks.parent_size(), "stacks.location"); !ok) {
    return ok;
  }
  for (int i = 0; i < stacks.parent_size(); ++i) {
    if (stacks.parent(i) > static_cast<uint32_t>(i)) {
      return invalid(fmt::format("stacks.parent[{}]", i), "node {} comes before its parent {}", i + 1,
                     stacks.parent(i));
    }
  }
  return check_indexes(stacks.location(), static_cast<uint64_t>(profile.locations().kind_size()),
                       "stacks.location");
}

Status check_cost(const CollectionCost& cost) {
  if (cost.cpu_time_ns() < 0) {
    return invalid("cost.cpu_time_ns", "{} is negative", cost.cpu_time_ns());
  }
  return check_texts(cost, [] { return "cost"; });
}

Status check_kernel_symbols(const RawProfile& profile) {
  const auto& images = profile.kernel_symbols().images();
  for (int i = 0; i < images.size(); ++i) {
    const std::string path = fmt::format("kernel_symbols.images[{}]", i);
    const std::string& names = images[i].names();
    if (images[i].binary() >= static_cast<uint32_t>(profile.binaries_size())) {
      return invalid(path + ".binary", "index {} of {}", images[i].binary(), profile.binaries_size());
    }
    if (std::count(names.begin(), names.end(), '\0') != images[i].offset_delta_size() ||
        (!names.empty() && names.back() != '\0')) {
      return invalid(path + ".names", "not one name for each of {} offsets", images[i].offset_delta_size());
    }
  }
  return {};
}

}  // namespace

Status validate(const RawProfile& profile) {
  if (auto ok = check_version(profile.format_version(), "the profile's message"); !ok) {
    return ok;
  }
  if (profile.profile_id().size() != 16) {
    return invalid("profile_id", "{} bytes, not 16", profile.profile_id().size());
  }
  for (const auto check : {check_events, check_binaries, check_processes, check_mappings, check_locations,
                           check_stacks, check_samples, check_kernel_symbols}) {
    if (auto ok = check(profile); !ok) {
      return ok;
    }
  }
  for (int i = 0; i < profile.notes_size(); ++i) {
    if (auto ok = check_text(profile.notes(i), fmt::format("notes[{}]", i)); !ok) {
      return ok;
    }
  }
  return first_failure({check_machine(profile.machine()), check_assignment(profile.assignment()),
                        check_window(profile.window()), check_cost(profile.cost()),
                        check_all_texts(profile.missing_events(), "missing_events")});
}

}  // namespace plimsoll::wire
