// What standard output is, and answers on it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "query/table/table.h"
#include "query/table/text_grid.h"

namespace plimsoll::cli {

// As wide as the variable COLUMNS says, else as the terminal that standard output is (80 characters where that does not
// say), in colour unless NO_COLOR is set (https://no-color.org) or TERM is "dumb". Where it is no terminal: without colour, and
// without COLUMNS lines of any length. Sparklines where it has a width and the locale (LC_ALL, LC_CTYPE, LANG) is of UTF-8.
query::TextStyle style_of_output();

// An answer on standard output; `notes` of what it was made from go below its own. Passes an error on.
Status print(Result<query::Table> table, query::TableForm form, const std::vector<std::string>& notes = {});

}  // namespace plimsoll::cli
