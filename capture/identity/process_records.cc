// What records change of the processes that are known.
#include <variant>

#include "base/mapped_path.h"
#include "capture/identity/processes.h"
#include "elf/build_id.h"

namespace plimsoll::identity {
namespace {

// A task runs on for a moment after the record of its end.
constexpr int64_t kKeptAfterEndNs = kNsPerSecond;

}  // namespace

bool ProcessTable::is_of_outside(const perf::Record& record) const {
  return std::visit(
      [this]<typename Body>(const Body& body) {
        if constexpr (requires { body.pid; }) {
          return is_outside(body.pid);
        }
        return false;
      },
      record.body);
}

void ProcessTable::apply(const perf::Record& record) {
  forget_ended(record.time_ns - kKeptAfterEndNs);
  if (is_of_outside(record)) {
    return;
  }
  if (const auto* mmap = std::get_if<perf::MmapRecord>(&record.body)) {
    apply_mmap(*mmap, record.time_ns);
  } else if (const auto* comm = std::get_if<perf::CommRecord>(&record.body)) {
    apply_comm(*comm, record.time_ns);
  } else if (const auto* fork = std::get_if<perf::ForkRecord>(&record.body)) {
    apply_fork(*fork, record.time_ns);
  } else if (const auto* exit = std::get_if<perf::ExitRecord>(&record.body)) {
    apply_exit(*exit, record.time_ns);
  } else if (const auto* cgroup = std::get_if<perf::CgroupRecord>(&record.body)) {
    cgroups_.add(cgroup->id, cgroup->path);
  }
}

Process* ProcessTable::changed(uint32_t pid, int64_t time_ns) {
  auto known = processes_.find(pid);
  if (known == processes_.end()) {
    if (is_complete_) {
      return nullptr;
    }
    known = processes_.emplace(pid, read(pid)).first;
  }
  return time_ns < known->second.known_since_ns ? nullptr : &known->second;
}

std::array<uint32_t, 4> ProcessTable::ancestors_of(const Process& process) const {
  std::array<uint32_t, 4> ancestors{};
  const Process* descendant = &process;
  for (uint32_t& ancestor : ancestors) {
    if (descendant == nullptr || descendant->parent_pid == 0) {
      break;
    }
    ancestor = descendant->parent_pid;
    const auto parent = processes_.find(ancestor);
    descendant = parent == processes_.end() ? nullptr : &parent->second;
  }
  return ancestors;
}

void ProcessTable::apply_mmap(const perf::MmapRecord& record, int64_t time_ns) {
  Process* const process = changed(record.pid, time_ns);
  if (process == nullptr || record.size_bytes > UINT64_MAX - record.start) {
    return;
  }
  const std::string_view path = without_deleted(record.path);
  const std::string_view build_id = elf::build_id_or_none(record.build_id);
  const BinaryInfo* binary = binary_of({.pid = record.pid,
                                        .path = path,
                                        .build_id = build_id,
                                        .file = {record.device_major, record.device_minor, record.inode},
                                        .generation = record.generation,
                                        .is_without_build_id = build_id.size() < record.build_id.size(),
                                        .ancestors = ancestors_of(*process)});
  if (process->executable_pending && binary != nullptr) {
    process->identity->executable = path == kVdso ? std::string() : printable(path);
    process->identity->binary = binary;
    process->executable_pending = false;
  }
  if (process->mappings.use_count() > 1) {
    process->mappings = std::make_shared<Mappings>(*process->mappings);
  }
  process->mappings->add({record.start, record.start + record.size_bytes, record.file_offset, binary});
}

void ProcessTable::begin_program(Process& process, uint32_t pid, int64_t time_ns) {
  auto identity = std::make_shared<ProcessIdentity>();
  identity->pid = pid;
  identity->start_ns = time_ns;
  identity->cgroup = process.identity == nullptr ? "/" : process.identity->cgroup;
  identity->started_ns = process.identity == nullptr ? 0 : process.identity->started_ns;
  const uint32_t parent_pid = process.parent_pid;
  process = Process{};
  process.parent_pid = parent_pid;
  process.identity = std::move(identity);
  process.mappings = std::make_shared<Mappings>();
  process.executable_pending = true;
  process.losses_seen = losses_at(time_ns);
}

void ProcessTable::apply_comm(const perf::CommRecord& record, int64_t time_ns) {
  Process* process = changed(record.pid, time_ns);
  if (record.is_exec && (process != nullptr || !processes_.contains(record.pid))) {
    process = &processes_[record.pid];
    begin_program(*process, record.pid, time_ns);
  }
  if (process == nullptr) {
    return;
  }
  const std::string name = printable(record.name);
  process->thread_names[record.tid] = {name};
  if (record.pid == record.tid) {
    process->identity->comm = name;
  }
}

void ProcessTable::apply_fork(const perf::ForkRecord& record, int64_t time_ns) {
  if (record.pid != record.parent_pid) {
    fork_process(record, time_ns);
  } else if (Process* const process = changed(record.pid, time_ns)) {
    process->may_have_threads = true;
    process->thread_names[record.tid] = {thread_name(*process, record.parent_tid)};
  }
}

bool ProcessTable::was_read_since(uint32_t pid, int64_t fork_ns) const {
  const auto known = processes_.find(pid);
  if (known == processes_.end()) {
    return false;
  }
  const Process& process = known->second;
  // /proc shows a process a moment before the record of its fork is written.
  const bool is_just_read = process.known_since_ns != 0 && process.ended_ns == 0 &&
                            process.losses_seen == losses_ && process.identity->start_ns == 0 &&
                            started_then(source_.since_boot_ns(fork_ns), process.identity->started_ns);
  return fork_ns < process.known_since_ns || is_just_read;
}

void ProcessTable::fork_process(const perf::ForkRecord& record, int64_t time_ns) {
  if (was_read_since(record.pid, time_ns)) {
    return;
  }
  const Process& parent = find(record.parent_pid, time_ns);
  if (record.was_before || !parent.is_known || !parent.is_whole) {
    Process process = read(record.pid);
    if (process.is_known) {
      processes_.insert_or_assign(record.pid, std::move(process));
    } else {
      processes_.erase(record.pid);
    }
    return;
  }
  Process child;
  child.executable_pending = parent.executable_pending;
  child.identity = std::make_shared<ProcessIdentity>(*parent.identity);
  child.identity->pid = record.pid;
  child.identity->start_ns = time_ns;
  child.identity->comm = thread_name(parent, record.parent_tid);
  child.mappings = parent.mappings;
  child.thread_names[record.tid] = {child.identity->comm};
  child.identity->started_ns = source_.since_boot_ns(time_ns);
  child.losses_seen = losses_at(time_ns);
  child.parent_pid = record.parent_pid;
  processes_.insert_or_assign(record.pid, std::move(child));
}

void ProcessTable::apply_exit(const perf::ExitRecord& record, int64_t time_ns) {
  const auto known = processes_.find(record.pid);
  if (known == processes_.end() || time_ns < known->second.known_since_ns) {
    return;
  }
  Process& process = known->second;
  process.first_thread_ended |= record.pid == record.tid;
  process.ended_ns = process.first_thread_ended ? time_ns : 0;
  if (const auto thread = process.thread_names.find(record.tid); thread != process.thread_names.end()) {
    thread->second.ended_ns = time_ns;
  }
  ended_.push_back({time_ns, record.pid, record.tid});
}

bool ProcessTable::has_other_threads(const Process& process) const {
  if (!process.may_have_threads || !source_.tells_executables()) {
    return process.may_have_threads;
  }
  const auto stat = source_.stat(process.identity->pid);
  return stat && stat->threads > 1 && started_then(process.identity->started_ns, stat->started_ns);
}

void ProcessTable::forget_ended(int64_t before_ns) {
  for (; !ended_.empty() && ended_.front().time_ns < before_ns; ended_.pop_front()) {
    const Ended& ended = ended_.front();
    const auto known = processes_.find(ended.pid);
    if (known == processes_.end()) {
      continue;
    }
    Process& process = known->second;
    const auto thread = process.thread_names.find(ended.tid);
    if (thread != process.thread_names.end() && thread->second.ended_ns == ended.time_ns) {
      process.thread_names.erase(thread);
    }
    if (process.ended_ns == ended.time_ns && !has_other_threads(process)) {
      processes_.erase(known);
    }
  }
}

}  // namespace plimsoll::identity
