// From the rows of a store to what the fleet measured in the code of one binary.
//
//   auto counts = count_binary({.selection = {}, .build_id = "4f5a"}, snapshot);
//
// As a view (`plimsoll fdo-counts`) it crosses the network as a table: counts_table(), counts_from().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "elf/elf_file.h"
#include "query/fdo/counts/binary_counts.h"
#include "query/selection/parameters.h"
#include "query/selection/selection.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"

namespace plimsoll::fdo {

struct CountsRequest {
  query::Selection selection = {};
  std::string build_id = {};  // hexadecimal, or the beginning of one that no other sampled binary has
  bool with_calls = false;    // BinaryCounts::calls
};

// Parameters: build_id, event, where, since, until, calls (yes or no).
Result<CountsRequest> parse_counts(const query::Parameters& parameters, int64_t now_ns);

// Values are weighted, as in every answer. Branches are those of the event "branch-records", and
// ranges those of "branch-ranges", beside the samples of the selection's event. Half of
// the machines with samples in the binary, by a hash of their IDs, are the one half; one machine is in no half.
//
// kNotFound where the selection has no samples in the binary: names the binaries with the most samples. kInvalid where several binaries match, or
// the event is of pairs other than "branch-records".
// Costs six passes over the rows, and memory for each stack that ends in the binary.
Result<BinaryCounts> count_binary(const CountsRequest& request, const query::Snapshot& snapshot);

// Rows by kind: "binary" (from: build ID, to: path), "elsewhere", "time" (from: mean_time_ns), then "sample", "branch", "range", "call", "sample-offset",
// "branch-offset", "range-offset" by address.
query::Table counts_table(const BinaryCounts& counts);
// counts_table() of count_binary().
Result<query::Table> fdo_counts(const CountsRequest& request, const query::Snapshot& snapshot);
// The inverse of counts_table(), of a table of unknown origin: kCorrupt where it is none, or has counts above 1e18.
Result<BinaryCounts> counts_from(const query::Table& table);

// kCorrupt where counts of unknown origin are of another build than `build_id`, whole and in hexadecimal. perf's first 20 bytes of it will do.
Status check_build_id(const BinaryCounts& counts, std::string_view build_id);

// A build ID as people write it, with its digits A to F in lower case.
std::string lower_hex(std::string build_id);

// Adds what is known by file offset to the addresses, by the segments of the binary itself. What lies in none is left out.
void to_addresses(BinaryCounts& counts, const elf::ElfFile& binary);

}  // namespace plimsoll::fdo
