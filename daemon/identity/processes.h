// The processes of this machine as the side-band records tell of them: who they are and what they have
// mapped, at the time of each sample.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/identity/binaries.h"
#include "daemon/identity/environment.h"
#include "daemon/identity/proc_fs.h"
#include "daemon/perf/records.h"

namespace plimsoll::identity {

// The name of the executable of kernel threads.
inline constexpr std::string_view kKernelExecutable = "[kernel]";

struct Mapping {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  const BinaryInfo* binary = nullptr;  // null: no file (JIT code)
};

// Executable mappings of a process, by start, without overlap.
class Mappings {
 public:
  // Replaces whatever part of older mappings lies under the new one.
  void add(const Mapping& mapping);
  const Mapping* find(uint64_t address) const;
  const std::map<uint64_t, Mapping>& all() const { return by_start_; }

 private:
  std::map<uint64_t, Mapping> by_start_;
};

// One program in one process: exec begins a new one. Shared with profiles under construction, which read it
// at the end of their window, when it is complete.
struct ProcessIdentity {
  uint32_t pid = 0;
  int64_t start_ns = 0;  // monotonic; 0: before we looked
  std::string comm;
  std::string executable;
  const BinaryInfo* binary = nullptr;  // of the executable; null: unknown
  std::string cgroup;                  // path
  Environment environment;  // filled by WorkloadNamer: what rules may read; empty: not read yet, or none
};

struct Process {
  std::shared_ptr<ProcessIdentity> identity;
  std::shared_ptr<Mappings> mappings;  // shared after fork until one side changes
  std::unordered_map<uint32_t, std::string> thread_names;
  bool executable_pending =
      false;  // its first mapping will name the executable: exec was seen, or nothing else tells
  bool exited = false;
};

// One thread. Memory grows with live processes and their mappings; forget_exited() drops the others.
class ProcessTable {
 public:
  ProcessTable(const ProcessSource& source, BinaryTable& binaries);

  // Reads the processes that are there already. Call with recording enabled, so that whatever changes
  // meanwhile is in the records, and apply those afterwards. Returns of how many the mappings may not be read.
  size_t scan();

  // Records must come in the order of time; samples and others that say nothing of processes are ignored.
  void apply(const perf::Record& record);

  // The process a sample belongs to. One that no record told of is read from the source (/proc); gone from there too, it
  // has neither mappings nor an executable.
  Process& find(uint32_t pid);
  std::string thread_name(Process& process, uint32_t tid);

  // Call between windows: samples of a process can come until its last record has been applied, not later.
  void forget_exited();

 private:
  void apply_mmap(const perf::MmapRecord& record);
  void apply_comm(const perf::CommRecord& record, int64_t time_ns);
  void apply_fork(const perf::ForkRecord& record, int64_t time_ns);
  Process read(uint32_t pid);
  const BinaryInfo* binary_of(const MappedFileHint& hint);

  const ProcessSource& source_;
  BinaryTable& binaries_;
  std::unordered_map<uint32_t, Process> processes_;
  size_t denied_ = 0;  // reads of mappings
};

}  // namespace plimsoll::identity
