// Request traces among the files that `plimsoll import` is given.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "formats/traces/read_spans.h"
#include "formats/unpack.h"
#include "store/directory/data_directory.h"
#include "store/door/spans.h"

namespace plimsoll::cli {

struct TracesImported {
  formats::SpansRead read;       // nothing taken: the file may be a profile
  std::optional<Error> refused;  // why it was not read as traces
};

// Borrows the directory, which this process writes. One thread.
class TraceImport {
 public:
  explicit TraceImport(const store::DataDirectory& directory) : directory_(directory) {}

  // Stores the spans of a file. One that was imported before changes no answer; its spans take room again until their block is dropped.
  // None are taken from a file that cannot be read as traces. Fails where it has traces, but too many, and where they cannot be stored.
  Result<TracesImported> import(const formats::InputFile& input);

 private:
  const store::DataDirectory& directory_;
  std::unique_ptr<store::SpanSink> sink_;  // of the first file that has some
};

}  // namespace plimsoll::cli
