// `binaries`: executables and debug files that were added; and whose symbols are missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/operations/build_uses.h"
#include "query/selection/parameters.h"
#include "query/selection/selection.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"
#include "symbolizer/repository/binary_record.h"
#include "symbolizer/repository/repository.h"

namespace plimsoll::query {

struct BinariesRequest {
  // The beginning of one, or the whole hash by which OpenTelemetry names a file (KeptFile::htl_hash), as
  // hexadecimal digits in lower case; empty: all.
  std::string build_id = {};
  size_t limit = 100;
};

// Parameters: build_id, limit.
Result<BinariesRequest> parse_binaries(const Parameters& parameters, int64_t now_ns);

// The records that are asked for, the newest first, and how many there are.
struct FoundBinaries {
  std::vector<symbolizer::BinaryRecord> records = {};  // request.limit at most
  size_t found = 0;
  bool has_any = false;  // whether any binaries were added
};

// kNotFound where a build ID or hash is given, and no build has it.
Result<FoundBinaries> find_binaries(const BinariesRequest& request,
                                    std::vector<symbolizer::BinaryRecord> records);

// A row for each file, in the order of the records.
Table binaries(const FoundBinaries& found, const BuildUses& uses);

// What became of one file: a row with its build_id, file, symbols, bytes, and the outcome.
Table table_of_added(const symbolizer::AddedBinary& added);

struct MissingBinariesRequest {
  Selection selection = {};
  size_t limit = 20;
};

// Parameters: those of a selection (query/selection/parameters.h); limit.
Result<MissingBinariesRequest> parse_missing_binaries(const Parameters& parameters, int64_t now_ns);

// A row for each build whose code was sampled and has no names, that with the largest part of the event's value first: binary, build_id, path (on
// a machine), samples, share (of the event's value: leaves in it without a name), kept (its files in the repository), command (that would help).
// Costs a pass over the rows.
Result<Table> missing_binaries(const MissingBinariesRequest& request,
                               const std::vector<symbolizer::BinaryRecord>& records,
                               const Snapshot& snapshot);

}  // namespace plimsoll::query
