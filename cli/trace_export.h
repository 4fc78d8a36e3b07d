// The answer of the view `trace` in the formats of other tools.
#pragma once

#include <string>

#include "base/result.h"
#include "formats/traces/write_spans.h"
#include "query/table/table.h"

namespace plimsoll::cli {

// Parents, times and clocks are those of the tree, as repaired. A half of a call that shares its ID with its parent (Zipkin) has an ID of its
// own. kCorrupt where the table is no trace. Columns that older servers do not have are left out.
Result<std::string> exported_trace(const query::Table& table, formats::TraceExport format);

}  // namespace plimsoll::cli
