#include "capture/identity/processes.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "capture/identity/cgroup.h"

namespace plimsoll::identity {
namespace {

// Memory that the kernel names like a file in the root folder; JIT compilers use it. Other memfds may hold programs (of
// container runtimes), and are files.
bool is_anonymous(std::string_view path) {
  constexpr std::array<std::string_view, 4> kPrefixes{"//", "/memfd:doublemapper", "/SYSV", "/anon_hugepage"};
  return path == "/dev/zero" ||
         std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return path.starts_with(prefix); });
}

Process unknown_process(uint32_t pid, std::string_view comm = kUnknownComm) {
  Process process;
  process.identity = std::make_shared<ProcessIdentity>();
  process.identity->pid = pid;
  process.identity->comm = comm;
  process.identity->cgroup = "/";
  process.mappings = std::make_shared<Mappings>();
  process.is_known = false;
  return process;
}

const Mapping* mapping_of_executable(const Process& process) {
  for (const auto& [start, mapping] : process.mappings->all()) {
    if (mapping.binary != nullptr && mapping.binary == process.identity->binary) {
      return &mapping;
    }
  }
  return nullptr;
}

// No other program's: an executable stays where it is until the next exec.
std::shared_ptr<Mappings> code_of_executable(const Process& process) {
  auto code = std::make_shared<Mappings>();
  for (const auto& [start, mapping] : process.mappings->all()) {
    if (mapping.binary != nullptr && mapping.binary == process.identity->binary) {
      code->add(mapping);
    }
  }
  return code;
}

// Where its executable lies tells a program from another run of it.
bool is_same_program(const Process& before, const Process& now) {
  const Mapping* const was_at = mapping_of_executable(before);
  const Mapping* const is_at = mapping_of_executable(now);
  const bool is_same_place = was_at == nullptr || is_at == nullptr
                                 ? was_at == is_at
                                 : was_at->start == is_at->start && was_at->binary == is_at->binary;
  return is_same_place && !now.identity->executable.empty() &&
         before.identity->executable == now.identity->executable;
}

}  // namespace

bool started_then(int64_t known_ns, int64_t told_ns) {
  // /proc rounds down to 10 ms, and the record of a fork, which may be what is known, comes a little after the start.
  constexpr int64_t kLatestNs = 20'000'000;
  return known_ns != 0 && told_ns <= known_ns && known_ns - told_ns <= kLatestNs;
}

ProcessTable::ProcessTable(const ProcessSource& source, BinaryTable& binaries,
                           const std::string& cgroup_mounts, CgroupTable::Limits cgroup_limits)
    : source_(source),
      binaries_(binaries),
      cgroups_(cgroup_mounts, cgroup_limits),
      sees_all_processes_(source.sees_all_processes()) {}

size_t ProcessTable::scan() {
  const size_t denied_before = denied_;
  cgroups_.scan();
  for (const uint32_t pid : source_.pids()) {
    Process process = read(pid);
    if (process.is_known) {
      processes_.insert_or_assign(pid, std::move(process));
    }
  }
  is_complete_ = true;
  return denied_ - denied_before;
}

const BinaryInfo* ProcessTable::binary_of(const MappedFileHint& hint) {
  if (hint.path == kVdso) {
    return binaries_.vdso(hint);
  }
  // "[heap]", "[stack]", "anon_inode:": no file.
  const bool is_file = hint.path.starts_with('/') && !is_anonymous(hint.path);
  return is_file ? binaries_.find_or_read(hint) : nullptr;
}

Process ProcessTable::read_once(uint32_t pid) {
  Process process;
  process.known_since_ns = source_.now_ns();
  process.identity = std::make_shared<ProcessIdentity>();
  process.mappings = std::make_shared<Mappings>();
  ProcessIdentity& identity = *process.identity;
  identity.pid = pid;
  identity.comm = pid == 0 ? "swapper" : source_.comm(pid);
  identity.executable = pid == 0 ? kKernelExecutable : source_.executable(pid);
  identity.cgroup = cgroup_path(source_.cgroup(pid));
  process.executable_pending = pid != 0 && !source_.tells_executables();
  if (identity.comm.empty()) {
    identity.comm = kUnknownComm;
  }
  for (NamedThread& thread : source_.threads(pid)) {
    if (!thread.name.empty()) {
      process.thread_names[thread.tid] = {std::move(thread.name)};
    }
  }
  const auto maps = source_.maps(pid);
  denied_ += !maps && maps.error().code == ErrorCode::kDenied ? 1 : 0;
  for (const MapsEntry& entry : maps.value_or(std::vector<MapsEntry>())) {
    if (!entry.executable || entry.path == "[vsyscall]") {
      continue;
    }
    const BinaryInfo* binary = binary_of({pid, entry.path, {}, entry.file});
    process.mappings->add({entry.start, entry.end, entry.file_offset, binary});
    if (entry.path == identity.executable) {
      identity.binary = binary;
    }
  }
  process.whole_since_ns = source_.now_ns();
  return process;
}

Process ProcessTable::read(uint32_t pid) {
  if (pid == 0 || !source_.tells_executables()) {
    return read_once(pid);
  }
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    const auto before = source_.stat(pid);
    if (!before) {
      break;
    }
    Process process = read_once(pid);
    const auto after = source_.stat(pid);
    const bool is_whole = after && after->started_ns == before->started_ns &&
                          source_.executable(pid) == process.identity->executable;
    if (is_whole) {
      process.identity->started_ns = after->started_ns;
      process.may_have_threads = after->threads > 1;
      process.losses_seen = losses_;
      if (after->is_kernel_thread) {
        process.identity->executable = kKernelExecutable;
      }
      return process;
    }
  }
  return unknown_process(pid);
}

bool ProcessTable::is_there(const Process& process) const {
  const auto stat = source_.stat(process.identity->pid);
  return stat && started_then(process.identity->started_ns, stat->started_ns);
}

Process& ProcessTable::unknown(uint32_t pid) {
  ++unknown_found_;
  return unknown_.try_emplace(pid, unknown_process(pid)).first->second;
}

Process& ProcessTable::find_without_record(uint32_t pid, int64_t time_ns) {
  if (is_outside(pid)) {
    return unknown_.try_emplace(pid, unknown_process(pid, kOutsideComm)).first->second;
  }
  if (!is_complete_ || pid == 0) {
    Process& found = processes_.emplace(pid, read(pid)).first->second;
    if (pid == 0) {
      found.known_since_ns = found.whole_since_ns = 0;  // the idle task was always there
    }
    return found;
  }
  if (losses_ == 0 || unknown_.contains(pid)) {
    return unknown(pid);
  }
  Process process = read(pid);
  if (!process.is_known) {
    return unknown(pid);
  }
  Process& found = processes_.emplace(pid, std::move(process)).first->second;
  return time_ns < found.whole_since_ns ? unknown(pid) : found;
}

void ProcessTable::refresh(Process& process, Process now) {
  Process sure = process;
  sure.is_whole = false;
  sure.mappings = code_of_executable(process);
  sure.thread_names.clear();
  unsure_.insert_or_assign(process.identity->pid, std::move(sure));
  process.mappings = std::move(now.mappings);
  process.losses_seen = losses_;
  process.known_since_ns = now.known_since_ns;
  process.whole_since_ns = now.whole_since_ns;
  process.identity->comm = now.identity->comm;
  process.thread_names = std::move(now.thread_names);
  process.may_have_threads = process.may_have_threads || now.may_have_threads;
}

bool ProcessTable::look_again(uint32_t pid, Process& process) {
  Process now = read(pid);
  if (!now.is_known) {
    processes_.erase(pid);
    return false;
  }
  if (started_then(process.identity->started_ns, now.identity->started_ns) && is_same_program(process, now)) {
    refresh(process, std::move(now));
  } else {
    process = std::move(now);
  }
  return true;
}

Process& ProcessTable::find(uint32_t pid, int64_t time_ns) {
  const auto known = processes_.find(pid);
  if (known == processes_.end()) {
    return find_without_record(pid, time_ns);
  }
  Process& process = known->second;
  if (pid != 0 && process.losses_seen != losses_ && !look_again(pid, process)) {
    return unknown(pid);
  }
  if (time_ns >= process.whole_since_ns) {
    return process;
  }
  const auto unsure = unsure_.find(pid);
  return unsure != unsure_.end() && unsure->second.identity == process.identity ? unsure->second
                                                                                : unknown(pid);
}

const std::string& ProcessTable::thread_name(const Process& process, uint32_t tid) {
  const auto known = process.thread_names.find(tid);
  return known == process.thread_names.end() ? process.identity->comm : known->second.name;
}

void ProcessTable::read_cgroup(Process& process, bool of_v1) {
  process.cgroup_window = window_;
  const std::string text = source_.cgroup(process.identity->pid);
  process.cgroup_is_read = !text.empty() && is_there(process);
  if (process.cgroup_is_read) {
    process.identity->cgroup = of_v1 ? v1_cgroup_path(text) : cgroup_path(text);
  }
}

CgroupPath ProcessTable::cgroup_of(Process& process, uint64_t sampled_id) {
  CgroupPath sampled = cgroups_.find(sampled_id);
  const bool is_root = sampled != nullptr && *sampled == "/";
  const auto beside = cgroups_.beside();
  if (sampled != nullptr && (!is_root || beside == CgroupTable::Beside::kNothing)) {
    return sampled;
  }
  if (process.is_known && process.cgroup_window != window_) {
    read_cgroup(process, is_root && beside == CgroupTable::Beside::kV1);
  }
  const bool is_told = sampled_id == 0 || sampled != nullptr || process.cgroup_is_read;
  unplaced_ += is_told ? 0 : 1;
  return cgroups_.path(process.identity->cgroup);
}

void ProcessTable::invalidate() {
  ++losses_;
  lost_until_ns_ = source_.now_ns();
  unknown_.clear();
  unsure_.clear();
}

void ProcessTable::end_window() {
  ++window_;
  unplaced_ = 0;
  cgroups_.end_window();
  unknown_.clear();
  unsure_.clear();
  // Of those that were not sampled since, the record of their end may be among the lost.
  if (losses_swept_ != losses_) {
    std::erase_if(processes_, [&](const auto& entry) {
      return entry.first != 0 && entry.second.losses_seen != losses_ && !is_there(entry.second);
    });
    losses_swept_ = losses_;
  }
}

std::set<const BinaryInfo*> ProcessTable::binaries_in_use() const {
  std::set<const BinaryInfo*> used;
  for (const auto& [pid, process] : processes_) {
    used.insert(process.identity->binary);
    for (const auto& [start, mapping] : process.mappings->all()) {
      used.insert(mapping.binary);
    }
  }
  return used;
}

}  // namespace plimsoll::identity
