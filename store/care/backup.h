// Backups of a data directory, and directories made of them.
//
// A backup is a data directory itself: questions may be asked of it with --data. It is consistent: each block as of one moment, with the
// segments of that moment, and then the archive, so that it has all profiles that the blocks have rows of. Later ones become rows after it
// was restored.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "store/care/check.h"

namespace plimsoll::store {

// Copies a data directory, which a server may be writing, to `output`, which must not exist or be empty. The copy is checked before it gets
// its name, durably: it is there as a whole, or not at all. kCorrupt where it is damaged, which names what.
Result<CheckReport> back_up(const std::string& data_dir, const std::string& output,
                            const ShowProgress& show = {});

// Makes a data directory of a backup, in the same way; the backup stays.
Result<CheckReport> restore(const std::string& backup, const std::string& data_dir,
                            const ShowProgress& show = {});

}  // namespace plimsoll::store
