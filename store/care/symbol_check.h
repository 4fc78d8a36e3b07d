// The symbol tables of a data directory.
#pragma once

#include "store/care/check_log.h"

namespace plimsoll::store {

void check_symbol_tables(CheckLog& log);

}  // namespace plimsoll::store
