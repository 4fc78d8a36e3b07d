// The databases of a data directory and its identity: giving it to them, and finding out where one does not fit.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "store/identity/directory_identity.h"

namespace plimsoll::store {

// Gives the ID of `identity` to all databases of a directory that is new or of an older format, makes those that every directory has, and
// then adds them to the list, durably. After a crash it goes on. A database of another directory is an error, as is an archive that is
// missing or older than the blocks. For the process that writes the directory.
Status bind_databases(const std::string& data_dir, DirectoryIdentity& identity);

// Fails where a database that the directory must have is missing, is of another directory, or is older than another. What was made just
// before a crash is added to the list. For the process that writes the directory.
Status expect_bound_databases(const std::string& data_dir, DirectoryIdentity& identity);

// draws.db or access.db, before it is first opened for writing: makes it where it was never made, and adds it to the list.
Status make_listed(const std::string& data_dir, std::string_view name, DirectoryIdentity& identity);

// Makes one of the four databases again that is missing, with nothing in it: deliberately, where there is no copy of it. New profiles get
// numbers beyond those of the blocks. kConflict where it is there, kInvalid for another name.
Status make_again(const std::string& data_dir, std::string_view name, DirectoryIdentity& identity);

// For readers: the newest block is there, and of this directory.
Status expect_newest_block(const std::string& data_dir, const DirectoryIdentity& identity);
// The archive too, with all profiles that have become rows.
Status expect_archive(const std::string& data_dir, const DirectoryIdentity& identity);

}  // namespace plimsoll::store
