// The processes of this machine as the side-band records tell of them: who they are and what they have
// mapped, at the time of each sample.
//
// A name that may be another program's is worse than none. So /proc, which tells of the present, is asked of processes that
// were there before the records began, and of no other while the records are complete: what they do not know has ended. A
// process that was read is told from another of its PID by the time that it started, and what records say of the time before
// it was read is in it already. Once records were lost, each process is looked at again before it gets another sample; one
// that is not what it was known to be, or has ended meanwhile, stays unknown for the time before. One that is, has for that
// time the code of its executable alone, and no names of threads: what else it had may have been replaced, and put back.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/identity/binaries.h"
#include "capture/identity/cgroup_table.h"
#include "capture/identity/mappings.h"
#include "capture/identity/proc_fs.h"
#include "capture/identity/workload.h"
#include "capture/perf/records.h"

namespace plimsoll::identity {

// The name of the executable of kernel threads.
inline constexpr std::string_view kKernelExecutable = "[kernel]";
// The name of a process that nothing is known of: it ended before anything could be read of it, or records were lost.
inline constexpr std::string_view kUnknownComm = "[exited]";
// The name of all processes outside our PID namespace, which records do not tell from each other.
inline constexpr std::string_view kOutsideComm = "[outside]";

// One program in one process: exec begins a new one. Shared with profiles under construction, which read it
// at the end of their window, when it is complete.
struct ProcessIdentity {
  uint32_t pid = 0;
  int64_t start_ns = 0;    // of the program: monotonic; 0: before we looked
  int64_t started_ns = 0;  // the process: since boot, about (started_then); 0: unknown
  std::string comm;
  std::string executable;
  const BinaryInfo* binary = nullptr;  // of the executable; null: unknown
  std::string cgroup;                  // path, when it was last asked for
  Environment environment = {};  // filled by WorkloadNamer: what rules may read; empty: not read yet, or none
  // Its job, if given by the caller; null: by rules.
  std::shared_ptr<const Workload> workload = nullptr;
};

// Whether a process known to have started then is the one that /proc tells that start of. Two of one PID must have started
// 30 ms apart to be told from each other; PIDs go round by the thousand first.
bool started_then(int64_t known_ns, int64_t told_ns);

struct ThreadName {
  std::string name;
  int64_t ended_ns = 0;  // 0: it has not
};

struct Process {
  std::shared_ptr<ProcessIdentity> identity;
  std::shared_ptr<Mappings> mappings;  // shared after fork until one side changes
  std::unordered_map<uint32_t, ThreadName> thread_names;
  uint32_t parent_pid = 0;  // by the record of its fork; 0: it was not seen
  bool is_known = true;     // false: no program, mapping or group is told of it, here or by /proc
  bool is_whole = true;     // false: it has code and threads that are not known
  bool executable_pending =
      false;  // its first mapping will name the executable: exec was seen, or nothing else tells
  bool may_have_threads = false;
  bool first_thread_ended = false;
  int64_t ended_ns = 0;        // 0: it has not
  int64_t known_since_ns = 0;  // records of an earlier time are in it already
  int64_t whole_since_ns =
      0;  // samples of an earlier time are not its own, or of code that it may not have had
  uint64_t losses_seen = 0;     // of records, in spite of which it is right
  uint64_t cgroup_window = 0;   // in which its group was last read, or tried to be; 0: never
  bool cgroup_is_read = false;  // then
};

// One thread. Memory grows with live processes and their mappings; those that ended are kept for a second of the records'
// time, since samples of them may still come.
class ProcessTable {
 public:
  // `cgroup_mounts` is where control groups are mounted; empty where only records tell of them.
  ProcessTable(const ProcessSource& source, BinaryTable& binaries,
               const std::string& cgroup_mounts = "/sys/fs/cgroup", CgroupTable::Limits cgroup_limits = {});

  // Reads the processes and control groups that are there already. Call with recording enabled, so that whatever changes
  // meanwhile is in the records; apply those before samples are taken. From then on the records are taken to be complete.
  // Returns of how many processes the mappings may not be read.
  size_t scan();

  // Records must come in the order of time; samples and others that say nothing of processes are ignored.
  void apply(const perf::Record& record);

  // Records were lost, of a time before now. Call before those that came since the last call are applied.
  void invalidate();

  // The process that a sample of that time belongs to; one that nothing is known of has neither mappings nor an executable.
  // Valid until the next call. Before scan(), a process that no record told of is read from the source (/proc).
  Process& find(uint32_t pid, int64_t time_ns = INT64_MAX);
  // The process's own where it has none that is known. Borrowed from the process.
  static const std::string& thread_name(const Process& process, uint32_t tid);

  // The path of the group that the process was in when a sample told its ID. The root says nothing where groups of another
  // hierarchy are in use: then it is what /proc says, which is read once in a window. The same applies to an unknown ID:
  // there were too many groups. Of a process that is gone it is the group that it was last known in, or was forked in.
  CgroupPath cgroup_of(Process& process, uint64_t sampled_id);

  // Call between windows.
  void end_window();

  bool sees_all_processes() const { return sees_all_processes_; }
  size_t size() const { return processes_.size(); }
  bool knows_cgroups() const { return cgroups_.groups() > 0; }
  // How many times a process was looked for of which nothing is known.
  uint64_t unknown() const { return unknown_found_; }
  // Of how many samples in this window the group was not known, nor to be asked of /proc.
  uint64_t unplaced() const { return unplaced_; }
  // Of all mappings and executables: what BinaryTable must keep.
  std::set<const BinaryInfo*> binaries_in_use() const;

 private:
  // PIDs of records and samples.
  bool is_outside(uint32_t pid) const { return pid == 0 && !sees_all_processes_; }
  bool is_of_outside(const perf::Record& record) const;
  void apply_mmap(const perf::MmapRecord& record, int64_t time_ns);
  void apply_comm(const perf::CommRecord& record, int64_t time_ns);
  void apply_fork(const perf::ForkRecord& record, int64_t time_ns);
  void apply_exit(const perf::ExitRecord& record, int64_t time_ns);
  void fork_process(const perf::ForkRecord& record, int64_t time_ns);
  void begin_program(Process& process, uint32_t pid, int64_t time_ns);
  std::array<uint32_t, 4> ancestors_of(const Process& process) const;  // MappedFileHint::ancestors
  // Whether the process that a record tells the fork of is in the table already.
  bool was_read_since(uint32_t pid, int64_t fork_ns) const;
  // Whether threads go on after its first one.
  bool has_other_threads(const Process& process) const;
  // The process that a record of that time changes; null where there is nothing to change.
  Process* changed(uint32_t pid, int64_t time_ns);
  // The losses in spite of which a record of that time tells the whole.
  uint64_t losses_at(int64_t time_ns) const { return time_ns < lost_until_ns_ ? losses_ - 1 : losses_; }

  // Nothing is known of the result where the process has ended or became another meanwhile.
  Process read(uint32_t pid);
  Process read_once(uint32_t pid);
  Process& unknown(uint32_t pid);
  Process& find_without_record(uint32_t pid, int64_t time_ns);
  // Looks at a process again that was known before records were lost; false: it has ended, and is forgotten.
  bool look_again(uint32_t pid, Process& process);
  // It is what it was known to be: takes over what /proc says of it now.
  void refresh(Process& process, Process now);
  // Whether the process of that PID is still this one, by when it started.
  bool is_there(const Process& process) const;
  void read_cgroup(Process& process, bool of_v1);
  void forget_ended(int64_t before_ns);
  const BinaryInfo* binary_of(const MappedFileHint& hint);

  const ProcessSource& source_;
  BinaryTable& binaries_;
  CgroupTable cgroups_;
  std::unordered_map<uint32_t, Process> processes_;
  std::unordered_map<uint32_t, Process> unknown_;  // of this window, until records are lost
  // What is sure of a process for the time between a loss and the look at it; until the window ends, or more are lost.
  std::unordered_map<uint32_t, Process> unsure_;
  struct Ended {
    int64_t time_ns;
    uint32_t pid;
    uint32_t tid;
  };
  std::deque<Ended> ended_;
  const bool sees_all_processes_;  // otherwise PID 0 is any process outside
  bool is_complete_ = false;
  uint64_t losses_ = 0;
  uint64_t losses_swept_ = 0;
  int64_t lost_until_ns_ = 0;
  uint64_t window_ = 1;
  uint64_t unknown_found_ = 0;
  uint64_t unplaced_ = 0;  // in this window
  size_t denied_ = 0;      // reads of mappings
};

}  // namespace plimsoll::identity
