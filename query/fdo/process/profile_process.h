// Makes compiler profiles in a child process, which alone parses ELF, DWARF and code: for a server, which must not.
//
//   ProfileProcess process({.argv = {"/proc/self/exe", "fdo", "worker"}});
//   auto profile = process.make({.builds = {{counts, files}}}, {.folder = folder});
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "query/fdo/making/profile_format.h"
#include "query/fdo/quality/quality.h"
#include "query/table/table.h"
#include "symbolizer/process/table_process.h"
#include "symbolizer/search/table_search.h"

namespace plimsoll::fdo {

struct ProfileOrder {
  struct Build {
    query::Table counts;           // counts_table() of it
    symbolizer::TableQuery files;  // by build ID
  };
  std::vector<Build> builds;  // the newest first; at least one
  ProfileFormat format = ProfileFormat::kBinary;
  Usefulness min_quality = Usefulness::kPoor;
};

struct ReportedProfile {
  std::string bytes;
  std::string report;  // to_json() of the QualityReport
  Usefulness usefulness = Usefulness::kNone;
};

// Limits of such a process by default. Time: beside that for the size of the files.
inline constexpr symbolizer::ProcessLimits kProfileLimits{
    .memory_bytes = uint64_t{1} << 30U, .table_bytes = uint64_t{64} << 20U, .cpu_seconds = 60};

// Any thread; as many at a time as there are callers.
class ProfileProcess {
 public:
  // What starts the child: `plimsoll fdo worker` (run_profile_child()). A zygote is not made for that.
  explicit ProfileProcess(symbolizer::TableWorker worker) : worker_(std::move(worker)) {}

  // Waits for the child, as TableProcess::make() does. kNotFound where the roots of build.files have no such binary, and the errors of
  // `plimsoll fdo autofdo`. A hint's second line, if any, has paths of this machine: why files were not found.
  Result<ReportedProfile> make(const ProfileOrder& order, const symbolizer::MakeOptions& options) const;

 private:
  symbolizer::TableWorker worker_;
};

}  // namespace plimsoll::fdo
