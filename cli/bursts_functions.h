// Names of functions in the stacks of bursts: by build ID, of binaries that are named by hand and of a data directory's symbol tables.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "symbolizer/process/table_process.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::cli {

// One thread. Opens each table once.
class BurstFunctions {
 public:
  // `data_dir` empty: there is none. The error names the binary that cannot be read; one without symbols names nothing. Reading a binary
  // may take seconds.
  static Result<BurstFunctions> open(const std::vector<std::string>& binaries, std::string data_dir);

  // Of frames that have no function yet: the one whose code it is, whatever was inlined there.
  void name(traces::BurstRecording& recording);

 private:
  using FoundTable = std::optional<symbolizer::MappedTable>;

  explicit BurstFunctions(std::string data_dir) : data_dir_(std::move(data_dir)) {}
  const symbolizer::Symtab* table_of(const std::string& build_id);

  std::string data_dir_;
  std::map<std::string, FoundTable, std::less<>> tables_;  // by build ID; nothing: there is none
};

}  // namespace plimsoll::cli
