#include "formats/perf_data/exec_inference.h"

#include "capture/identity/workload.h"

namespace plimsoll::perf_data {
namespace {

constexpr size_t kKernelNameBytes = 15;  // of a name that the kernel keeps

}  // namespace

void ExecInference::see(const perf::CommRecord& comm) {
  if (comm.pid == comm.tid && !comm.is_exec) {
    names_[comm.pid] = comm.name;
  }
}

std::optional<perf::CommRecord> ExecInference::see(const perf::MmapRecord& mmap) {
  const auto named = names_.find(mmap.pid);
  if (named == names_.end() || !mmap.path.starts_with('/')) {
    return std::nullopt;
  }
  const perf::CommRecord exec{mmap.pid, mmap.pid, named->second, true};
  names_.erase(named);
  return identity::base_name(mmap.path).substr(0, kKernelNameBytes) == exec.name ? std::optional(exec)
                                                                                 : std::nullopt;
}

}  // namespace plimsoll::perf_data
