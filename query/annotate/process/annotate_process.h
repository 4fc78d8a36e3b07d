// Annotates code in a child process, which alone parses ELF, DWARF and code.
//
//   AnnotateProcess process({.argv = {"/proc/self/exe", "symtab", "annotate"}});
//   auto annotation = process.make({.function = "parse", .counts = counts, .files = files}, {.folder = folder});
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "query/annotate/annotation.h"
#include "query/fdo/counts/binary_counts.h"
#include "symbolizer/process/table_process.h"
#include "symbolizer/search/table_search.h"

namespace plimsoll::annotate {

struct AnnotateOrder {
  std::string function = {};
  std::vector<fdo::BinaryCounts> counts = {};  // of one build, an event each; at least one
  symbolizer::TableQuery files = {};           // by build ID, or named by hand
  // A symbol table of the build `files.identity` (symbolizer::table_path()), used where it is there and has lines: to make one takes seconds
  // for a large binary. Empty: none.
  std::string kept_table = {};
};

// Limits of such a process by default. Time: beside that for the size of the files.
inline constexpr symbolizer::ProcessLimits kAnnotateLimits{
    .memory_bytes = uint64_t{1} << 30U, .table_bytes = uint64_t{64} << 20U, .cpu_seconds = 30};

// Any thread; as many at a time as there are callers.
class AnnotateProcess {
 public:
  // What starts the child: `plimsoll symtab annotate` (run_annotate_child()). A zygote is not made for that.
  explicit AnnotateProcess(symbolizer::TableWorker worker) : worker_(std::move(worker)) {}

  // Waits for the child, as TableProcess::make() does. What it says is checked; source text is not part of it (read_sources()).
  //
  // kNotFound where there is no file of the build, and the errors of annotate(). A hint's second line, if any, has paths of this machine:
  // why files were not found.
  Result<Annotation> make(const AnnotateOrder& order, const symbolizer::MakeOptions& options) const;

 private:
  symbolizer::TableWorker worker_;
};

}  // namespace plimsoll::annotate
