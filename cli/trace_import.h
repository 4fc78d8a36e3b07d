// Request traces among the files that `plimsoll import` is given.
#pragma once

#include <memory>

#include "base/result.h"
#include "formats/traces/read_spans.h"
#include "formats/unpack.h"
#include "store/directory/data_directory.h"
#include "store/door/spans.h"

namespace plimsoll::cli {

// Borrows the directory, which this process writes. One thread.
class TraceImport {
 public:
  explicit TraceImport(const store::DataDirectory& directory) : directory_(directory) {}

  // Stores the spans of a file; a file that was imported before changes nothing. None are taken from a file that cannot be read as
  // traces. Fails where they cannot be stored.
  Result<formats::SpansRead> import(const formats::InputFile& input);

 private:
  const store::DataDirectory& directory_;
  std::unique_ptr<store::SpanSink> sink_;  // of the first file that has some
};

}  // namespace plimsoll::cli
