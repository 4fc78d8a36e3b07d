// What answers say where a part of the store cannot be read.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "query/registry/view.h"
#include "store/model/damaged_part.h"

namespace plimsoll::query {

// Blocks and segments that are left out of answers about these times, as far as is known by now.
std::vector<store::DamagedPart> damaged_parts(const Snapshot& snapshot, const store::TimeSpans& times);

// A note for each, of which more than a few are counted.
std::vector<std::string> notes_of(const std::vector<store::DamagedPart>& damaged);

// The answer with notes_of() them. kCorrupt where it is a file for another tool, and something is missing.
Result<Answer> with_damage_noted(Answer answer, const std::vector<store::DamagedPart>& damaged);

// The answer with these notes before its own; a file has no place for them.
Answer with_notes(Answer answer, const std::vector<std::string>& notes);

}  // namespace plimsoll::query
