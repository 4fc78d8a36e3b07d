// What annotated code is asked for, and what the store counted for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/annotate/listing.h"
#include "query/fdo/counts/binary_counts.h"
#include "query/selection/parameters.h"
#include "query/selection/selection.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::annotate {

enum class AnnotationForm : uint8_t { kText, kJson };

struct AnnotateRequest {
  query::Selection selection = {};  // its event is the first of `events`
  std::string function = {};        // as people read it, or as linked
  std::string binary = {};          // build ID or its first digits, path, or file name; empty: the only one
  std::vector<std::string> events = {};  // empty: the default one
  Order order = Order::kSource;
  AnnotationForm form = AnnotationForm::kJson;
};

// The events of one text: commas between, but for those within the slashes of "cpu/event=0x3c,umask=1/".
std::vector<std::string> split_events(const std::string& text);

// Parameters: function, binary, event (may be repeated, and have commas between; 8 at most), where, since, until, order (source or address),
// format (json or text). kInvalid without a function, and for events of branches.
Result<AnnotateRequest> parse_annotate(const query::Parameters& parameters, int64_t now_ns);

struct MeasuredFunction {
  std::string build_id;                        // hexadecimal, whole
  std::string path;                            // of the binary, on a machine that ran it
  std::vector<fdo::BinaryCounts> counts = {};  // of the whole binary, an event each
};

// The errors of choose_build() and fdo::count_binary(). An event without samples in the binary has counts of nothing, unless it is the first.
// Of one set of rows throughout, as views are answered: the notes of the first event say which rows are damaged or rolled up.
// `parameters` are those of the request, read at `now_ns`. Costs a pass over the rows, and six an event.
Result<MeasuredFunction> measure_function(const AnnotateRequest& request, const query::Parameters& parameters,
                                          int64_t now_ns, const query::Snapshot& snapshot);

}  // namespace plimsoll::annotate
