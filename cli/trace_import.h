// Request traces among the files that `plimsoll import` is given.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "formats/traces/read_spans.h"
#include "formats/unpack.h"
#include "store/directory/data_directory.h"
#include "store/door/spans.h"
#include "traces/model/span_set.h"

namespace plimsoll::cli {

struct TracesImported {
  formats::SpansRead read;       // nothing taken: the file may be a profile
  std::optional<Error> refused;  // why it was not read as traces
};

// Borrows the directory, which this process writes. One thread.
class TraceImport {
 public:
  explicit TraceImport(const store::DataDirectory& directory) : directory_(directory) {}

  // Reads the spans of a file, which store() keeps. One that was imported before changes no answer; its spans take room again until their
  // block is dropped. None are taken from a file that cannot be read as traces. Fails where it has traces, but too many.
  Result<TracesImported> read(const formats::InputFile& input);
  // As many spans of small files as are worth a transaction, or those of a large one.
  bool is_full() const;
  // Keeps what was read since the last time: all of it or, where that fails, nothing.
  Status store();
  // Makes few large files of those that have been stored.
  Status merge();

 private:
  const store::DataDirectory& directory_;
  std::unique_ptr<store::SpanSink> sink_;  // of the first file that has some
  std::vector<traces::SpanSet> read_;      // by file
  uint64_t read_spans_ = 0;
};

}  // namespace plimsoll::cli
