// Data directories from an object store (store/objects/write_behind.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "objects/object_store.h"
#include "store/care/check.h"

namespace plimsoll::store {

struct ObjectRestoreReport {
  CheckReport check;
  int64_t written_ns = 0;          // when the server wrote there last
  int64_t newest_received_ns = 0;  // of the newest raw profile; 0: there is none
  // Raw profiles that become rows again, by themselves. 0 where rows are elsewhere: their database alone knows.
  uint64_t profiles_to_rebuild = 0;
  std::string rows = {};  // address of rows that are not in the directory; empty: they are
};

// Makes the data directory that is in the store, in `data_dir`, which must not exist or be empty. It is checked before it gets its name. What
// a call that fails or ends has fetched stays in DIR.tmp, for the next one. `from` is the store's address, for errors. kNotFound where the store
// has no directory, kCorrupt where what it has is damaged or lacks a part. Where objects go meanwhile, since a server goes on writing, it takes
// that server's next manifest. Rows that were not in the directory stay where they are; the first server that is started on the directory settles
// what of them it does not know (store/known_profiles.h).
Result<ObjectRestoreReport> restore_from_objects(objects::ObjectStore& store, const std::string& from,
                                                 const std::string& data_dir, const ShowProgress& show = {});

}  // namespace plimsoll::store
