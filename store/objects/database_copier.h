// Copies what says which directory it is, and its databases beside archive.db.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "store/objects/copy_draft.h"
#include "store/objects/write_behind_options.h"

namespace plimsoll::store {

// FORMAT, identity, live.db, draws.db and access.db. Borrows the options. One thread.
class DatabaseCopier {
 public:
  DatabaseCopier(std::string data_dir, const WriteBehindOptions& options)
      : data_dir_(std::move(data_dir)), options_(options) {}

  // Databases that have changed, each as of one moment, every WriteBehindOptions::database_pause_ns. The list of databases comes before the
  // databases: it names none that is not copied. A database that cannot be copied is an error, and stays in the draft as it was. With the identity
  // the draft has where the rows are.
  Status copy(CopyDraft& draft);

 private:
  Status copy_database(const std::string& name, CopyDraft& draft) const;

  const std::string data_dir_;
  const WriteBehindOptions& options_;
  int64_t next_ns_ = 0;
};

}  // namespace plimsoll::store
