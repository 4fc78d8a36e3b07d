// Which of the sampled binaries have a function.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/selection/selection.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::annotate {

struct FunctionBuild {
  std::string build_id;              // hexadecimal, whole
  std::string path;                  // on a machine that ran it: the first of `paths`
  double value = 0;                  // of samples in the function, inlined calls of it included
  std::set<std::string> paths = {};  // on all of them
};

// Builds with samples in a function of that name, as people read it or as linked; the most samples first. Binaries without a build ID are
// left out. Costs a pass over the rows.
Result<std::vector<FunctionBuild>> builds_with_function(std::string_view function,
                                                        const query::ResolvedSelection& selection,
                                                        const query::Snapshot& snapshot);

// The one of them that is meant: `binary` is a build ID or its first digits, a path, or a file's name; empty: any.
//
// kNotFound where there is none, kInvalid where there are several: the hint lists them.
Result<FunctionBuild> choose_build(std::string_view function, std::string_view binary,
                                   const query::Selection& selection, const query::Snapshot& snapshot);

}  // namespace plimsoll::annotate
