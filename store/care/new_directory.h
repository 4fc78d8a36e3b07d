// A data directory while it is made of a copy: DIR.tmp, which gets its name once it was checked and is on disk. For store/care alone.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "store/care/check.h"

namespace plimsoll::store {

Status make_folder(const std::string& path);

bool is_there(const std::string& path);

std::string without_slashes(std::string path);

// Or an empty folder that can be replaced.
Status expect_nothing_at(const std::string& path);

// What an attempt that failed or was interrupted has left for the next one.
enum class Leftovers {
  kRemove,
  kKeep,  // the next one finds it, and removes what it has no use for: all but the files "lock" and "unfinished"
};

// Has `fill` make a directory in a folder, checks it and gives it its name, durably: it is there as a whole, or not at all. `to` is
// without slashes, and nothing is there; `from` is what it is made of, for errors. kCorrupt where it is damaged, which names what.
Result<CheckReport> make_directory(const std::string& to, const std::string& from, Leftovers leftovers,
                                   const std::function<Status(const std::string& temporary)>& fill,
                                   const ShowProgress& show);

}  // namespace plimsoll::store
