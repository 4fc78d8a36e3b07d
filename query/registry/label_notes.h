// What an answer says about the labels that it was asked for.
#pragma once

#include <string>
#include <vector>

#include "query/selection/parameters.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::query {

// That no sample carries one, and which there are; that some values of one stand for others. Costs 50 ns for each set of labels there is,
// where the question names a label at all.
std::vector<std::string> label_notes(const Parameters& parameters, const Snapshot& snapshot);

}  // namespace plimsoll::query
