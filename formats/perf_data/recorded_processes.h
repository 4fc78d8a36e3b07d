// What is known of a recording's processes besides its records: nothing.
#pragma once

#include "capture/identity/proc_fs.h"

namespace plimsoll::perf_data {

class RecordedProcesses : public identity::ProcessSource {
 public:
  std::vector<uint32_t> pids() const override { return {}; }
  std::string comm(uint32_t /*pid*/) const override { return {}; }
  std::vector<identity::NamedThread> threads(uint32_t /*pid*/) const override { return {}; }
  std::string executable(uint32_t /*pid*/) const override { return {}; }
  std::optional<identity::ProcessStat> stat(uint32_t /*pid*/) const override { return std::nullopt; }
  std::string cgroup(uint32_t /*pid*/) const override { return {}; }
  Result<std::vector<identity::MapsEntry>> maps(uint32_t pid) const override {
    return fail(ErrorCode::kNotFound, "process {} is only recorded", pid);
  }
  bool tells_executables() const override { return false; }
};

}  // namespace plimsoll::perf_data
