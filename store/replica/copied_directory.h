// A copy of another server's machines and draws (store/replica/directory_copies.h), in a folder: a data directory without rows.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "proto/directory.pb.h"
#include "store/fleet.h"

namespace plimsoll::store {

inline constexpr std::array<std::string_view, 2> kCopiedDatabases{"live.db", "draws.db"};
inline constexpr uint32_t kDirectoryCopyVersion = 1;
// Of rows that are split over shards: a program that does not know these would take a part of the rows for all.
inline constexpr uint32_t kShardedCopyVersion = 2;

// The version that a message of this content has.
uint32_t copy_version_of(const wire::DirectoryCopy& facts);

// Whether it may be what a server says of a copy: IDs of their sizes, each database once. It comes from another machine. kUnsupported for
// a version of the message, or a format of the directory, that this program does not read.
Status check_copy(const wire::DirectoryCopy& facts);

// Any thread.
class CopiedDirectory {
 public:
  // Of a folder with the two databases that `facts`, which must be checked, is about: makes a data directory of it. Reads all of them: kCorrupt
  // where their content is not what `facts` says, or where they are of another directory.
  static Result<std::shared_ptr<CopiedDirectory>> make(const std::string& folder, wire::DirectoryCopy facts);
  // Of a folder that make() has left, checked in the same way. kNotFound where there is none.
  static Result<std::shared_ptr<CopiedDirectory>> open(const std::string& folder);

  CopiedDirectory(const CopiedDirectory&) = delete;
  CopiedDirectory& operator=(const CopiedDirectory&) = delete;
  ~CopiedDirectory();

  const wire::DirectoryCopy& facts() const { return facts_; }
  const std::string& folder() const { return folder_; }
  const Fleet& fleet() const { return *fleet_; }

  // The folder goes with the last that uses it.
  void remove_when_unused() { is_to_go_ = true; }

 private:
  CopiedDirectory(std::string folder, wire::DirectoryCopy facts);

  const std::string folder_;
  const wire::DirectoryCopy facts_;
  std::unique_ptr<const Fleet> fleet_;
  std::atomic<bool> is_to_go_ = false;
};

}  // namespace plimsoll::store
