// A part of a store that has dictionaries of its own: a block of a data directory, an epoch in ClickHouse.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/model/aggregation.h"
#include "store/model/bindings.h"
#include "store/model/damaged_part.h"
#include "store/model/dictionaries.h"

namespace plimsoll::store {

// What rows of a part refer to. Immutable.
struct PartEntries {
  Dictionaries dictionaries;
  Bindings bindings;
};

// Which entries.
struct EntriesMark {
  int64_t last_origin = -1;
  int64_t last_change = -1;  // of bindings

  bool operator==(const EntriesMark&) const = default;
};

// A part as of one moment. Immutable.
struct PartContents {
  int64_t version = 0;  // PartReader::version() of then
  std::shared_ptr<const RowSource> rows;
  EntriesMark mark;
  // Null: the reader's caller knows them.
  std::shared_ptr<const PartEntries> entries;
  // Another one: all entries were read again, and `Bindings::rebound` begins again.
  int64_t reading = 0;
};

// Reads what is new alone. Any thread.
class PartReader {
 public:
  PartReader() = default;
  PartReader(const PartReader&) = delete;
  PartReader& operator=(const PartReader&) = delete;
  virtual ~PartReader() = default;

  // For errors: "block 7".
  virtual std::string name() const = 0;

  // Why nothing of it can be read, as an attempt has found; absent: it can, as far as is known.
  virtual std::optional<DamagedPart> damage() const = 0;

  // Another value than that of the contents: something has been committed since. Costs much less than read().
  virtual Result<int64_t> version() = 0;

  // All as of now, but for entries that the caller knows (PartContents::mark).
  virtual Result<PartContents> read(const EntriesMark& known) = 0;
};

}  // namespace plimsoll::store
