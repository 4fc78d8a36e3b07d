#include "daemon/jit/jit_names.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "capture/identity/workload_namer.h"
#include "daemon/jit/perf_map.h"

namespace plimsoll {
namespace {

constexpr size_t kLongestName = 1024;
constexpr int kMaxNotes = 5;

// An address that code was sampled at, and the index of its location.
using SampledCode = std::pair<uint64_t, int>;

std::map<uint32_t, std::vector<SampledCode>> jit_code_by_process(const wire::Locations& locations) {
  std::map<uint32_t, std::vector<SampledCode>> code;
  for (int i = 0; i < locations.kind_size(); ++i) {
    if (locations.kind(i) == wire::JIT) {
      code[locations.owner(i)].emplace_back(locations.address(i), i);
    }
  }
  return code;
}

class JitNaming {
 public:
  JitNaming(const identity::ProcFs& proc_fs, wire::RawProfile& profile, uint64_t budget_bytes)
      : proc_fs_(proc_fs), profile_(profile), budget_bytes_(budget_bytes) {}

  bool is_spent() const { return read_bytes_ >= budget_bytes_; }

  void name_process(const identity::ProcessIdentity& process, std::vector<SampledCode> code) {
    const auto map = identity::PerfMap::open(proc_fs_, process.pid);
    // What was opened, or refused, may be another's that has the PID by now.
    if (!identity::is_still(proc_fs_, process)) {
      return;
    }
    if (!map) {
      return note(process, map.error());
    }
    read_bytes_ += map->size_bytes();
    std::ranges::sort(code);
    std::vector<uint64_t> addresses;
    for (const auto& [address, location] : code) {
      addresses.push_back(address);
    }
    const auto found = map->names_at(addresses);
    if (!found) {
      return note(process, found.error());
    }
    for (size_t i = 0; i < code.size(); ++i) {
      if (!found->names[i].empty()) {
        name_location(code[i].second, found->names[i]);
      }
    }
  }

 private:
  void note(const identity::ProcessIdentity& process, const Error& error) {
    if (error.code != ErrorCode::kNotFound && notes_++ < kMaxNotes) {
      profile_.add_notes(fmt::format("JIT code of {} has no names: {}", process.comm, error.message));
    }
  }

  void name_location(int location, std::string_view name) {
    const std::string function = identity::printable(name.substr(0, kLongestName));
    const auto [frame, is_new] = frames_.try_emplace(function, static_cast<uint64_t>(profile_.frames_size()));
    if (is_new) {
      profile_.add_frames()->set_function(function);
    }
    wire::Locations& locations = *profile_.mutable_locations();
    locations.set_kind(location, wire::NAMED);
    locations.set_owner(location, 0);
    locations.set_address(location, frame->second);
  }

  const identity::ProcFs& proc_fs_;
  wire::RawProfile& profile_;
  const uint64_t budget_bytes_;
  uint64_t read_bytes_ = 0;  // of maps
  std::map<std::string, uint64_t> frames_;
  int notes_ = 0;
};

}  // namespace

void name_jit_locations(const identity::ProcFs& proc_fs,
                        std::span<const std::shared_ptr<identity::ProcessIdentity>> processes,
                        wire::RawProfile& profile, uint64_t budget_bytes) {
  JitNaming naming(proc_fs, profile, budget_bytes);
  for (auto& [process, code] : jit_code_by_process(profile.locations())) {
    if (naming.is_spent()) {
      profile.add_notes(
          fmt::format("JIT code of some processes has no names: over {} bytes of perf maps", budget_bytes));
      return;
    }
    naming.name_process(*processes[process], std::move(code));
  }
}

}  // namespace plimsoll
