#include "daemon/machine/machine.h"

#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>

#include "base/checksum.h"
#include "base/durable_file.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/random.h"
#include "capture/identity/kernel.h"
#include "capture/identity/proc_fs.h"
#include "capture/platform/generation.h"
#include "daemon/events/event_catalogue.h"

namespace plimsoll::identity {
namespace {

constexpr uint64_t kMaxTextBytes = uint64_t{16} << 20;

std::string first_line_of(const std::string& path) {
  const auto text = read_file(path, kMaxTextBytes);
  return text ? printable(std::string_view(*text).substr(0, text->find('\n'))) : std::string();
}

// The value of the first "key<separator>value" line; empty where there is none.
std::string value_of(std::string_view text, std::string_view key, char separator) {
  size_t line_start = 0;
  while (line_start < text.size()) {
    const size_t line_end = std::min(text.find('\n', line_start), text.size());
    const std::string_view line = text.substr(line_start, line_end - line_start);
    const size_t split = line.find(separator);
    if (split != std::string_view::npos && line.starts_with(key) &&
        line.substr(key.size(), split - key.size()).find_first_not_of(" \t") == std::string_view::npos) {
      std::string_view value = line.substr(split + 1);
      value.remove_prefix(std::min(value.find_first_not_of(" \t\""), value.size()));
      value = value.substr(0, value.find_last_not_of(" \t\"") + 1);
      return printable(value);
    }
    line_start = line_end + 1;
  }
  return {};
}

Result<std::string> kept_random_id(const std::string& state_dir) {
  const std::string path = state_dir + "/machine-id";
  std::string kept = first_line_of(path);
  if (!kept.empty()) {
    return kept;
  }
  std::string id = to_hex(random_bytes(16));
  std::error_code error;
  std::filesystem::create_directories(state_dir, error);
  if (auto written = write_file_durably(path, as_bytes(id + "\n")); !written) {
    return with_hint(propagate(written, "storing a random machine ID"),
                     "set machine.id in the configuration, or make the folder writable");
  }
  return id;
}

Result<std::string> machine_id(const MachineSettings& settings) {
  if (!settings.id.empty()) {
    return settings.id;
  }
  const std::string etc_machine_id = first_line_of("/etc/machine-id");
  if (!etc_machine_id.empty() && etc_machine_id != "uninitialized") {
    return machine_id_from(etc_machine_id);
  }
  return kept_random_id(settings.state_dir);
}

}  // namespace

std::string machine_id_from(std::string_view etc_machine_id) {
  return to_hex(content_hash(as_bytes(fmt::format("plimsoll machine identity\n{}", etc_machine_id))));
}

void set_platform(std::string_view cpuinfo, const std::string& sysfs, wire::Machine& machine) {
  const platform::CpuId id = platform::read_cpu_id(cpuinfo, sysfs);
  const bool is_hybrid = perf::EventCatalogue({.sysfs = sysfs, .cpuinfo = {}}).is_hybrid();
  machine.set_platform(platform::platform_name(id, is_hybrid));
  machine.set_cpu_model(platform::model_text(id));
}

Result<wire::Machine> read_machine(const MachineSettings& settings) {
  const auto id = machine_id(settings);
  if (!id) {
    return propagate(id, "determining the machine ID");
  }
  wire::Machine machine;
  machine.set_id(*id);
  machine.set_datacenter(settings.datacenter);
  machine.set_cluster(settings.cluster);
  machine.set_boot_id(first_line_of("/proc/sys/kernel/random/boot_id"));
  set_platform(read_file("/proc/cpuinfo", kMaxTextBytes).value_or(std::string()), "/sys", machine);
  machine.set_os(
      value_of(read_file("/etc/os-release", kMaxTextBytes).value_or(std::string()), "PRETTY_NAME", '='));
  machine.set_kernel_build_id(running_kernel_build_id());
  utsname name{};
  if (::uname(&name) == 0) {
    machine.set_hostname(printable(name.nodename));
    machine.set_architecture(printable(name.machine));
    machine.set_kernel_release(printable(name.release));
  }
  struct sysinfo info{};
  if (::sysinfo(&info) == 0) {
    machine.set_memory_bytes(uint64_t{info.totalram} * info.mem_unit);
  }
  machine.set_cores(static_cast<uint32_t>(std::max(0L, ::sysconf(_SC_NPROCESSORS_ONLN))));
  return machine;
}

}  // namespace plimsoll::identity
