// Reads the dictionaries of a block from its catalogue.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/model/dictionaries.h"

namespace plimsoll::store {

Result<Dictionaries> load_dictionaries(sqlite::Database& catalogue);

// Adds what has been committed since: entries are only ever added, and reading costs as much as what is new. After an error the
// dictionaries are of no use.
Status extend(Dictionaries& dictionaries, sqlite::Database& database);

// The same in two parts, of which the larger is often the stacks. Another connection, whose state may be newer, has those up to `last`
// as they were.
Status extend_without_stacks(Dictionaries& dictionaries, sqlite::Database& database);
Result<uint32_t> last_stack(sqlite::Database& database);
Status extend_stacks(Dictionaries& dictionaries, sqlite::Database& database, uint32_t last);

// Of the catalogue of a writer. Reads the last entry of each.
Result<DictionarySizes> read_sizes(sqlite::Database& catalogue);

// Whether a catalogue has a dictionary of label sets. Up to format 8 it had none; its first writer makes one.
Result<bool> has_label_sets(sqlite::Database& catalogue);

}  // namespace plimsoll::store
