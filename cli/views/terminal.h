// What standard output is.
#pragma once

#include "query/table/text_grid.h"

namespace plimsoll::cli {

// As wide as the terminal that standard output is (80 characters where it does not say), in colour unless NO_COLOR is set
// (https://no-color.org) or TERM is "dumb"; lines of any length without colour where it is no terminal.
query::TextStyle style_of_output();

}  // namespace plimsoll::cli
