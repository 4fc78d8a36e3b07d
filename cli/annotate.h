// `plimsoll annotate`: the instructions and source lines of a function, with what the fleet sampled at each.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/views/answer_source.h"
#include "query/annotate/listing.h"
#include "query/selection/parameters.h"

namespace plimsoll::cli {

struct AnnotateOptions {
  AnswerSource source;
  query::Parameters parameters;  // event, where, since, until
  std::string function;
  // A file of this machine, if there is one of that name; else a build ID or its first digits, a path, or a file's name. Empty: the only
  // binary with that function.
  std::string binary;
  std::string debug;                      // separate debug file of the binary; empty: looked for
  std::vector<std::string> source_roots;  // as annotate::parse_source_root() reads them
  annotate::Order order = annotate::Order::kSource;
  bool is_json = false;
};

// Prints it. With a file of this machine, or a data directory, the code is read here, in a process that is confined; else the server reads
// its own files, and source text from its own roots.
Status run_annotate(const AnnotateOptions& options);

}  // namespace plimsoll::cli
