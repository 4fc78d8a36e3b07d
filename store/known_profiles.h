// The archive of a directory whose rows are elsewhere, and the profiles that these rows are of.
//
// Profiles are numbered by the archive, and a sink takes all up to the newest number that it has for built. So an archive that is older than the
// rows, a copy say, would give new profiles numbers that are taken: they would never become rows. And profiles that it does not know would count
// twice where daemons send them again.
#pragma once

#include <string>

#include "base/result.h"
#include "store/archive/archive.h"
#include "store/door/row_store.h"

namespace plimsoll::store {

// Of a directory that was restored (DirectoryIdentity::is_restored): the archive gets the IDs of all profiles that it lacks and that have rows, its
// numbers go on behind theirs, and then the directory counts as restored no more. After a crash the next call does it again. Of any other directory:
// kCorrupt where the archive is older than the rows. For the process that writes the directory, before it accepts or builds anything. Takes about
// 10 us for each profile that the archive lacks.
Status settle_known_profiles(const std::string& data_dir, Archive& archive, RowStore& rows);

}  // namespace plimsoll::store
