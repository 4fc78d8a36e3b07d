// Before Linux 3.16 the kernel did not say whether a process got a new name by running another program or gave itself one.
// It ran another program if the first file that it then maps has that name.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <optional>
#include <string>

#include "capture/perf/records.h"

namespace plimsoll::perf_data {

// One thread; records come in the order of time. Memory: a name for each process that took one and has mapped nothing since.
class ExecInference {
 public:
  void see(const perf::CommRecord& comm);
  // The same name as that of a new program, where this mapping shows that it is one. To be applied before the mapping.
  std::optional<perf::CommRecord> see(const perf::MmapRecord& mmap);

 private:
  boost::unordered_flat_map<uint32_t, std::string> names_;  // by PID
};

}  // namespace plimsoll::perf_data
