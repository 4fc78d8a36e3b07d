#include "formats/perf_data/machine_facts.h"

#include "capture/platform/generation.h"

namespace plimsoll::perf_data {
namespace {

constexpr size_t kMaxMachineIdBytes = 128;
constexpr size_t kMaxBuildIdBytes = 64;

// As the daemon writes platforms; in the recording's own words where they tell nothing more.
void set_platform(const Metadata& metadata, wire::Machine& machine) {
  const auto id = platform::cpu_id_from_recording(metadata.cpu_id, metadata.cpu_description);
  const std::string name = platform::platform_name(id, false);
  machine.set_platform(name.empty() ? metadata.cpu_id : name);
  machine.set_cpu_model(platform::model_text(id));
}

bool is_wall_time(int64_t ns) {
  return ns > 0 && ns <= kLatestNs;
}

// The wall-clock time of the window's begin, by the recording's own pair of clocks; 0 where it has none, or no sensible one.
int64_t start_by_clock(const Metadata& metadata, int64_t first_ns) {
  int64_t offset_ns = 0;
  int64_t start_ns = 0;
  const bool is_told =
      metadata.clock &&
      !__builtin_sub_overflow(metadata.clock->wall_ns, metadata.clock->clock_ns, &offset_ns) &&
      !__builtin_add_overflow(offset_ns, first_ns, &start_ns);
  return is_told && is_wall_time(start_ns) ? start_ns : 0;
}

}  // namespace

void describe_machine(const Metadata& metadata, const std::string& label, const std::string& kernel_build_id,
                      wire::Machine& machine) {
  const std::string& name = metadata.hostname.empty() ? label : metadata.hostname;
  machine.set_id(name.substr(0, kMaxMachineIdBytes));
  machine.set_hostname(name);
  set_platform(metadata, machine);
  machine.set_architecture(metadata.architecture);
  machine.set_kernel_release(metadata.os_release);
  machine.set_kernel_build_id(kernel_build_id.substr(0, kMaxBuildIdBytes));
  machine.set_cores(metadata.cpus_online);
  machine.set_memory_bytes(metadata.memory_kib << 10U);
}

Status set_window(const Metadata& metadata, const SampleTimes& times, ClaimedTimes claimed,
                  wire::RawProfile& profile) {
  const uint64_t first_ns = times.known() ? times.first_ns : 0;
  if (times.last_ns >= static_cast<uint64_t>(kLatestNs)) {
    return fail(ErrorCode::kCorrupt, "its samples were taken from {} to {} ns on its clock", first_ns,
                times.last_ns);
  }
  // Windows have a length, one sample or none has not.
  const auto length_ns = std::max<int64_t>(1, static_cast<int64_t>(times.last_ns - first_ns));
  const int64_t told_start_ns = start_by_clock(metadata, static_cast<int64_t>(first_ns));
  claimed.told_ns = told_start_ns == 0 ? 0 : std::min(told_start_ns + length_ns, kLatestNs);
  const ChosenTime chosen = choose_end_time(claimed);
  const bool is_told = claimed.told_ns != 0 && chosen.end_ns == claimed.told_ns;
  const int64_t start_ns = is_told ? told_start_ns : std::max<int64_t>(1, chosen.end_ns - length_ns);
  if (!chosen.note.empty()) {
    profile.add_notes(chosen.note);
  }
  wire::Window& window = *profile.mutable_window();
  window.mutable_start()->set_monotonic_ns(static_cast<int64_t>(first_ns));
  window.mutable_start()->set_wall_ns(start_ns);
  window.mutable_end()->set_monotonic_ns(static_cast<int64_t>(first_ns) + length_ns);
  window.mutable_end()->set_wall_ns(std::min(start_ns + length_ns, kLatestNs));
  return {};
}

}  // namespace plimsoll::perf_data
