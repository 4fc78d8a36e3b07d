// The tracks of a trace of Perfetto: of machines, processes, threads, requests and RPCs. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "formats/perfetto/packet_writer.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::formats::perfetto {

// Each is described before its first event. Of one machine they have process and thread IDs; of several, whose IDs may be equal, they lie
// below one for each machine. Machines go by name: of one there may be several recordings, one after the other. Recordings stay where they
// are meanwhile.
class Tracks {
 public:
  Tracks(PacketWriter& out, bool is_one_machine) : out_(out), is_one_machine_(is_one_machine) {}

  // Once, before the first track.
  void begin();
  // Before the first track that is the recording's.
  void add_process_names(const traces::BurstRecording& recording);

  // `copy`: of a burst that a machine recorded twice, by two configs or since its clock was set back, the number of this part: slices of
  // one track may not overlap.
  uint64_t thread(const traces::BurstRecording& recording, uint32_t copy, uint32_t index);
  // A new one.
  uint64_t request(const traces::BurstRecording& recording, uint64_t id);
  // A new one below another: RPCs of a thread overlap.
  uint64_t rpc(uint64_t parent);

 private:
  uint64_t machine(const traces::BurstRecording& recording);
  // Has the name of the process's first thread, where that is known, else of one that was seen.
  uint64_t process(uint32_t pid, const std::string& name_of_thread);
  uint64_t add_named(uint64_t parent, std::string_view name);

  PacketWriter& out_;
  const bool is_one_machine_;
  uint64_t next_ = 1;
  uint64_t requests_ = 0;
  std::map<std::string_view, uint64_t> machines_;
  std::map<uint32_t, uint64_t> processes_;                        // by process ID
  std::unordered_map<uint32_t, std::string_view> process_names_;  // of one machine
  std::set<const traces::BurstRecording*> named_;                 // whose processes are in it
  // By machine, copy, PID and TID.
  std::map<std::tuple<std::string_view, uint32_t, uint32_t, uint32_t>, uint64_t> threads_;
};

}  // namespace plimsoll::formats::perfetto
