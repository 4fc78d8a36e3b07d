// What `plimsoll symtab annotate` does: the process that annotates the code of untrusted binaries.
#pragma once

#include "base/result.h"

namespace plimsoll::annotate {

// Reads a wire::AnnotationRequest from standard input, confines itself (symbolizer/process/confinement.h), finds and parses the files,
// writes a wire::CodeAnnotation to symbolizer::kTableDescriptor and the reply to standard output. It opens no source file. What goes wrong
// with the files is part of the reply; an error is that nothing could be said.
Status run_annotate_child();

}  // namespace plimsoll::annotate
