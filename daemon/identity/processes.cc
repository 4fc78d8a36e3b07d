#include "daemon/identity/processes.h"

#include <algorithm>
#include <array>
#include <variant>

#include "daemon/identity/cgroup.h"

namespace plimsoll::identity {
namespace {

// Where a process is gone before anything could be read of it.
constexpr std::string_view kUnknownComm = "[exited]";

// Memory that the kernel names like a file in the root folder; JIT compilers use it. Other memfds may hold programs (of
// container runtimes), and are files.
bool is_anonymous(std::string_view path) {
  constexpr std::array<std::string_view, 4> kPrefixes{"//", "/memfd:doublemapper", "/SYSV", "/anon_hugepage"};
  return path == "/dev/zero" ||
         std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return path.starts_with(prefix); });
}

}  // namespace

void Mappings::add(const Mapping& mapping) {
  if (mapping.end <= mapping.start) {
    return;
  }
  auto at = by_start_.lower_bound(mapping.start);
  if (at != by_start_.begin()) {
    const auto before = std::prev(at);
    const Mapping old = before->second;
    if (old.end > mapping.start) {
      before->second.end = mapping.start;
      if (old.end > mapping.end) {
        by_start_[mapping.end] = {mapping.end, old.end, old.file_offset + (mapping.end - old.start),
                                  old.binary};
      }
    }
  }
  while (at != by_start_.end() && at->second.start < mapping.end) {
    Mapping old = at->second;
    at = by_start_.erase(at);
    if (old.end > mapping.end) {
      old.file_offset += mapping.end - old.start;
      old.start = mapping.end;
      by_start_[old.start] = old;
    }
  }
  by_start_[mapping.start] = mapping;
}

const Mapping* Mappings::find(uint64_t address) const {
  const auto after = by_start_.upper_bound(address);
  if (after == by_start_.begin()) {
    return nullptr;
  }
  const Mapping& mapping = std::prev(after)->second;
  return address < mapping.end ? &mapping : nullptr;
}

ProcessTable::ProcessTable(const ProcessSource& source, BinaryTable& binaries)
    : source_(source), binaries_(binaries) {}

size_t ProcessTable::scan() {
  const size_t denied_before = denied_;
  for (const uint32_t pid : source_.pids()) {
    processes_.insert_or_assign(pid, read(pid));
  }
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

Process ProcessTable::read(uint32_t pid) {
  Process process;
  process.identity = std::make_shared<ProcessIdentity>();
  process.mappings = std::make_shared<Mappings>();
  ProcessIdentity& identity = *process.identity;
  identity.pid = pid;
  identity.comm = pid == 0 ? "swapper" : source_.comm(pid);
  identity.executable = source_.executable(pid);
  identity.cgroup = cgroup_path(source_.cgroup(pid));
  process.executable_pending = pid != 0 && !source_.tells_executables();
  const auto maps = source_.maps(pid);
  denied_ += !maps && maps.error().code == ErrorCode::kDenied ? 1 : 0;
  if (pid == 0 || source_.is_kernel_thread(pid)) {
    identity.executable = kKernelExecutable;
  }
  if (identity.comm.empty()) {
    identity.comm = kUnknownComm;
  }
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
  return process;
}

Process& ProcessTable::find(uint32_t pid) {
  const auto known = processes_.find(pid);
  return known != processes_.end() ? known->second : processes_.emplace(pid, read(pid)).first->second;
}

std::string ProcessTable::thread_name(Process& process, uint32_t tid) {
  auto& name = process.thread_names[tid];
  if (name.empty()) {
    name = tid == process.identity->pid ? process.identity->comm
                                        : source_.thread_name(process.identity->pid, tid);
  }
  if (name.empty()) {
    name = process.identity->comm;
  }
  return name;
}

void ProcessTable::apply(const perf::Record& record) {
  if (const auto* mmap = std::get_if<perf::MmapRecord>(&record.body)) {
    apply_mmap(*mmap);
  } else if (const auto* comm = std::get_if<perf::CommRecord>(&record.body)) {
    apply_comm(*comm, record.time_ns);
  } else if (const auto* fork = std::get_if<perf::ForkRecord>(&record.body)) {
    apply_fork(*fork, record.time_ns);
  } else if (const auto* exit = std::get_if<perf::ExitRecord>(&record.body)) {
    const auto process = processes_.find(exit->pid);
    if (process != processes_.end() && exit->pid == exit->tid) {
      process->second.exited = true;
    }
  }
}

void ProcessTable::apply_mmap(const perf::MmapRecord& record) {
  if (record.size_bytes > UINT64_MAX - record.start) {
    return;
  }
  Process& process = find(record.pid);
  const std::string_view path = without_deleted(record.path);
  const BinaryInfo* binary = binary_of(
      {record.pid, path, record.build_id, {record.device_major, record.device_minor, record.inode}});
  if (process.executable_pending && binary != nullptr) {
    process.identity->executable = path == kVdso ? std::string() : printable(path);
    process.identity->binary = binary;
    process.executable_pending = false;
  }
  if (process.mappings.use_count() > 1) {
    process.mappings = std::make_shared<Mappings>(*process.mappings);
  }
  process.mappings->add({record.start, record.start + record.size_bytes, record.file_offset, binary});
}

void ProcessTable::apply_comm(const perf::CommRecord& record, int64_t time_ns) {
  Process& process = find(record.pid);
  const std::string name = printable(record.name);
  if (record.is_exec) {
    auto identity = std::make_shared<ProcessIdentity>();
    identity->pid = record.pid;
    identity->start_ns = time_ns;
    // Container runtimes move a process between fork and exec; a process already gone keeps its parent's
    // group.
    const std::string cgroup_text = source_.cgroup(record.pid);
    identity->cgroup = cgroup_text.empty() ? process.identity->cgroup : cgroup_path(cgroup_text);
    process.identity = std::move(identity);
    process.mappings = std::make_shared<Mappings>();
    process.thread_names.clear();
    process.executable_pending = true;
  }
  process.thread_names[record.tid] = name;
  if (record.pid == record.tid) {
    process.identity->comm = name;
  }
}

void ProcessTable::apply_fork(const perf::ForkRecord& record, int64_t time_ns) {
  Process& parent = find(record.parent_pid);
  const std::string name = thread_name(parent, record.parent_tid);
  if (record.pid == record.parent_pid) {
    parent.thread_names[record.tid] = name;
    return;
  }
  if (record.was_before) {
    processes_.insert_or_assign(record.pid, read(record.pid));
    return;
  }
  Process child;
  child.executable_pending = parent.executable_pending;
  child.identity = std::make_shared<ProcessIdentity>(*parent.identity);
  child.identity->pid = record.pid;
  child.identity->start_ns = time_ns;
  child.identity->comm = name;
  child.mappings = parent.mappings;
  child.thread_names[record.tid] = name;
  processes_.insert_or_assign(record.pid, std::move(child));
}

void ProcessTable::forget_exited() {
  std::erase_if(processes_, [](const auto& entry) { return entry.second.exited; });
}

}  // namespace plimsoll::identity
