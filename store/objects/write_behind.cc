#include "store/objects/write_behind.h"

#include <utility>

#include "store/identity/directory_identity.h"
#include "store/objects/pack_copier.h"
#include "store/objects/stored_history.h"
#include "store/objects/symbol_table_copier.h"

namespace plimsoll::store {

WriteBehind::WriteBehind(std::string data_dir, std::unique_ptr<objects::ObjectStore> store,
                         WriteBehindOptions options)
    : data_dir_(std::move(data_dir)),
      store_(std::move(store)),
      options_(std::move(options)),
      draft_(*store_, options_),
      keeper_(*store_),
      databases_(data_dir_, options_),
      blocks_(data_dir_) {}

Result<WriteBehindReport> WriteBehind::run() {
  if (const Status begun = begin(); !begun) {
    return propagate(begun);
  }
  draft_.begin(keeper_.stored());
  draft_.shorten_leaving();
  // First, so that the packs have all that these blocks have rows of.
  const auto sealed = blocks_.sealed_blocks();
  const Status identified = databases_.copy(draft_);
  // Without these a manifest is of no use.
  const auto& files = draft_.manifest().files;
  if (!identified && !(files.contains("FORMAT") && files.contains("identity"))) {
    return propagate(identified, "copying {} to the object store", data_dir_);
  }
  const Status packed = copy_packs(data_dir_, options_.pack_bytes, draft_);
  const Status named = copy_symbol_tables(data_dir_, draft_);
  // A profile that has rows is in the archive: a block comes after its packs.
  const Status kept = !packed ? Status() : sealed ? blocks_.copy(*sealed, draft_) : propagate(sealed);
  const Status written = keeper_.write(draft_);
  for (const Status& step : {written, identified, packed, named, kept}) {
    if (!step) {
      return propagate(step, "copying {} to the object store", data_dir_);
    }
  }
  return draft_.report();
}

Status WriteBehind::begin() {
  if (keeper_.has_begun()) {
    return {};
  }
  const auto identity = read_identity(data_dir_);
  if (!identity || !identity->is_complete()) {
    return identity ? Status(fail(ErrorCode::kUnavailable, "{} is being made", data_dir_))
                    : propagate(identity);
  }
  return keeper_.begin(identity->id,
                       [this](const Manifest& stored) { return expect_same_history(data_dir_, stored); });
}

}  // namespace plimsoll::store
