// Annotated code as bytes: from the process that parses a binary to the one that asked for it.
#pragma once

#include <string>

#include "base/byte_reader.h"
#include "base/result.h"
#include "query/annotate/annotation.h"

namespace plimsoll::annotate {

// Without the text of source lines, which the process that parses does not read.
std::string encode(const Annotation& annotation);

// Of bytes of unknown origin: kCorrupt where they are no annotation, or where its numbers name what it does not have.
Result<Annotation> decode(Bytes bytes);

}  // namespace plimsoll::annotate
