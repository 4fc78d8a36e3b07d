// Names of functions in the stacks of bursts: by build ID, of binaries that are named by hand, and of the symbol tables that a data
// directory or a server has.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/views/answer_source.h"
#include "symbolizer/process/table_process.h"
#include "symbolizer/worker/function_names.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::cli {

// One thread. Opens each table once.
class BurstFunctions {
 public:
  // The source may name neither a server nor a data directory. The error names the binary that cannot be read; one without symbols names
  // nothing. Reading a binary may take seconds.
  static Result<BurstFunctions> open(const std::vector<std::string>& binaries, AnswerSource source);

  // Of frames that have no function yet: the one whose code it is, whatever was inlined there. Fails where the server cannot be asked.
  Status name(traces::BurstRecording& recording);

 private:
  using FoundTable = std::optional<symbolizer::MappedTable>;

  explicit BurstFunctions(AnswerSource source) : source_(std::move(source)) {}
  const symbolizer::Symtab* table_of(const std::string& build_id);
  // One for each place; empty: unknown.
  Result<std::vector<std::string>> functions_in(const std::string& build_id,
                                                std::span<const symbolizer::CodePlace> places);
  Result<std::vector<std::string>> ask_for(const std::string& build_id,
                                           std::span<const symbolizer::CodePlace> places);

  AnswerSource source_;
  std::map<std::string, FoundTable, std::less<>> tables_;  // by build ID; nothing: there is none here
  std::set<std::string> unknown_builds_;                   // to the server
};

}  // namespace plimsoll::cli
