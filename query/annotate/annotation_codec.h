// Annotated code as bytes: from the process that parses a binary to the one that asked for it.
#pragma once

#include <cstdint>
#include <string>

#include "base/byte_reader.h"
#include "base/result.h"
#include "query/annotate/annotation.h"

namespace plimsoll::annotate {

// Without the text of source lines, which the process that parses does not read.
std::string encode(const Annotation& annotation);

// Of memory, for a form of an annotation.
inline constexpr uint64_t kMaxShownBytes = uint64_t{512} << 20;

// Of bytes of unknown origin: kCorrupt where they are no annotation, or where its numbers name what it does not have; kTooLarge where its
// forms (annotation_forms.h) could take more than kMaxShownBytes.
Result<Annotation> decode(Bytes bytes);

}  // namespace plimsoll::annotate
