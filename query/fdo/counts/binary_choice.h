// Which of the sampled binaries a build ID means: for this folder's sources.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "query/selection/selection.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::fdo {

struct ChosenBinary {
  std::string build_id;             // hexadecimal, whole
  std::string path;                 // of the first entry
  std::vector<bool> is_entry = {};  // by dictionary ID of binaries: it has several where it has several paths
};

// kInvalid where `build_id` is no hexadecimal text or several binaries match, kNotFound where none does.
Result<ChosenBinary> choose_binary(const std::string& build_id, const query::ResolvedSelection& selection,
                                   const query::Snapshot& snapshot);

// "the most sampled binaries are search (4f5a..., 61.0 %), ...". Costs a pass over the rows.
std::string most_sampled_binaries(const query::ResolvedSelection& selection, const query::Snapshot& snapshot);

}  // namespace plimsoll::fdo
