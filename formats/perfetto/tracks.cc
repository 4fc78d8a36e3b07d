#include "formats/perfetto/tracks.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "formats/perfetto/fields.h"

namespace plimsoll::formats::perfetto {

using traces::BurstRecording;
using traces::BurstThread;

void Tracks::begin() {
  requests_ = next_++;
  WireMessage descriptor;
  descriptor.number(field::kDescriptorUuid, requests_);
  descriptor.text(field::kDescriptorName, "requests");
  out_.add_descriptor(descriptor);
}

// Of one machine alone: others have processes with the same numbers.
void Tracks::add_process_names(const BurstRecording& recording) {
  if (!is_one_machine_ || !named_.insert(&recording).second) {
    return;
  }
  for (const BurstThread& thread : recording.threads) {
    if (thread.tid == thread.pid && !thread.name.empty()) {
      process_names_.try_emplace(thread.pid, thread.name);
    }
  }
}

uint64_t Tracks::add_named(uint64_t parent, std::string_view name) {
  const uint64_t track = next_++;
  WireMessage descriptor;
  descriptor.number(field::kDescriptorUuid, track);
  descriptor.number(field::kDescriptorParent, parent);
  descriptor.text(field::kDescriptorName, name);
  out_.add_descriptor(descriptor);
  return track;
}

uint64_t Tracks::machine(const BurstRecording& recording) {
  const auto [found, is_new] = machines_.try_emplace(recording.machine, next_);
  if (is_new) {
    ++next_;
    WireMessage descriptor;
    descriptor.number(field::kDescriptorUuid, found->second);
    descriptor.text(field::kDescriptorName, printable(recording.machine));
    out_.add_descriptor(descriptor);
  }
  return found->second;
}

uint64_t Tracks::process(uint32_t pid, const std::string& name_of_thread) {
  const auto [found, is_new] = processes_.try_emplace(pid, next_);
  if (is_new) {
    ++next_;
    const auto first = process_names_.find(pid);
    WireMessage ids;
    ids.number(field::kProcessPid, pid);
    ids.text(field::kProcessName, first == process_names_.end() ? name_of_thread : printable(first->second));
    WireMessage descriptor;
    descriptor.number(field::kDescriptorUuid, found->second);
    descriptor.message(field::kDescriptorProcess, ids);
    out_.add_descriptor(descriptor);
  }
  return found->second;
}

uint64_t Tracks::thread(const BurstRecording& recording, uint32_t copy, uint32_t index) {
  const BurstThread& one = recording.threads[index];
  const std::tuple key(std::string_view(recording.machine), copy, one.pid, one.tid);
  const auto [found, is_new] = threads_.try_emplace(key, 0);
  if (!is_new) {
    return found->second;
  }
  const std::string name = printable(one.name);
  if (!is_one_machine_) {
    found->second = add_named(machine(recording), fmt::format("{} {}", name, one.tid));
    return found->second;
  }
  const uint32_t pid = one.pid != 0 ? one.pid : one.tid;
  const uint64_t parent = process(pid, name);
  WireMessage ids;
  ids.number(field::kThreadPid, pid);
  ids.number(field::kThreadTid, one.tid);
  ids.text(field::kThreadName, name);
  found->second = next_++;
  WireMessage descriptor;
  descriptor.number(field::kDescriptorUuid, found->second);
  descriptor.number(field::kDescriptorParent, parent);
  descriptor.message(field::kDescriptorThread, ids);
  out_.add_descriptor(descriptor);
  return found->second;
}

uint64_t Tracks::request(const BurstRecording& recording, uint64_t id) {
  return add_named(requests_, is_one_machine_
                                  ? fmt::format("request {:016x}", id)
                                  : fmt::format("request {:016x} on {}", id, printable(recording.machine)));
}

uint64_t Tracks::rpc(uint64_t parent) {
  return add_named(parent, "rpcs");
}

}  // namespace plimsoll::formats::perfetto
