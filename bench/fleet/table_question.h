// Questions to a server's API, as people ask them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "query/table/table.h"

namespace plimsoll::bench {

// Asks for a view that answers with a table, such as "top?by=job", on a connection of its own.
Result<query::Table> ask_for_table(const std::string& address, std::string_view view_and_parameters);

}  // namespace plimsoll::bench
