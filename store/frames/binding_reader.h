// Reads what the locations of a block are called from its catalogue.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/model/bindings.h"

namespace plimsoll::store {

// Grows with each binding, and each change of why a binary has no better symbols.
Result<int64_t> last_binding_change(sqlite::Database& database);

class BindingReader {
 public:
  // `packed`: frames that were read before, of an earlier moment; the catalogue is asked for what has changed since.
  static Result<Bindings> load(sqlite::Database& database, const PackedFrames* packed = nullptr);

  // Reads what was bound since. Costs as much as that, and a copy of 8 bytes for each location where there is any. After an error the
  // bindings are of no use.
  static Status extend(Bindings& bindings, sqlite::Database& database);

 private:
  using Places = std::vector<Bindings::Place>;

  static Status take_frames(Bindings& bindings, sqlite::Database& database, const PackedFrames& packed);
  static Status extend_names(Bindings& bindings, sqlite::Database& database);
  // Of rows of frames, by location and depth.
  static Status add_frames(Bindings& bindings, Result<sqlite::Statement> rows, Places& places);
};

}  // namespace plimsoll::store
