// The catalogue of a rolled-up block.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/catalogue/segment_table.h"
#include "store/model/dictionaries.h"
#include "store/rollup/hours.h"

namespace plimsoll::store {

// What stands in place of the names of threads and instances.
inline constexpr const char* kRolledUpName = "[rolled up]";

// The workloads of a block without their instances: each once.
struct RolledWorkloads {
  std::vector<WorkloadEntry> entries{WorkloadEntry()};  // by ID
  std::vector<uint32_t> of{0};                          // by the ID of a full one
  std::vector<std::string> instances{""};               // likewise
  std::map<WorkloadEntry, uint32_t> ids;

  void add(WorkloadEntry full);
};

Result<RolledWorkloads> read_workloads(sqlite::Database& catalogue);

struct RolledContents {
  const Hours& hours;
  const RolledWorkloads& workloads;
  const std::vector<SegmentEntry>& segments;
  int64_t now_ns = 0;
};

// Makes `path`, on disk when it returns, of the catalogue of a block as it is now, which nobody may write meanwhile. Origins, workloads and
// threads are others; machines, events, binaries, locations, stacks and all names have the same IDs, since rows go on referring to all of them. A
// location in code of a JIT, whose owner was an instance, keeps that apart by its name.
Status make_rolled_catalogue(const std::string& full_path, const std::string& path,
                             const RolledContents& contents);

}  // namespace plimsoll::store
