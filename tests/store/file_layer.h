// Every change that this process makes to files below one folder: recorded, or made to fail.
//
// The program that links this source has its own write(), pwrite64(), fsync(), rename() and so on, under the names that the C library has
// them: the dynamic linker finds the program's first, so that SQLite's and the C++ library's calls come here too. No seam in the store can
// miss one; what would come by another way (a mapping, stdio, a call that is not here) shows, because a replay of the record must give the
// very files that are there (simulated_disk.h).
//
// Left out: SQLite's "-shm" files, which are memory that processes share and are made again after each crash.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::testing {

enum class FileAction : uint8_t {
  kOpen,    // of what is there; no change
  kCreate,  // by opening
  kWrite,
  kTruncate,
  kSync,  // of a file or a folder
  kRename,
  kExchange,
  kLink,
  kUnlink,
  kMakeFolder,
  kRemoveFolder,
  kMark,  // what the program says of itself; no change
};

struct FileOperation {
  FileAction action = FileAction::kMark;
  uint32_t handle = 0;     // kOpen to kSync: of one open(), from 1
  uint64_t offset = 0;     // of a write; of kTruncate the size
  std::string path = {};   // below the folder; of a mark its text
  std::string to = {};     // of kRename, kExchange and kLink
  std::string bytes = {};  // that were written

  bool is_point() const { return action != FileAction::kOpen && action != FileAction::kMark; }
};

// "write", "fsync" and so on.
std::string name_of(FileAction action);

struct FileFault {
  enum class Kind : uint8_t {
    kNoSpace,  // ENOSPC
    kIoError,  // EIO
    kShort,    // a write of half; what is no write, and further ones, ENOSPC
    kEnd,      // the process ends: half of a write is done, or nothing
  };
  Kind kind = Kind::kNoSpace;
  uint64_t first = 0;  // the operation that fails: from 0, of those that are points
  uint64_t count = 1;  // and how many in a row
};

// Of this process. One at a time, while no other thread changes files.
class FileLayer {
 public:
  // From now on, below that folder, which has no symbolic link in its path. Calls to fsync() and fdatasync() are not made in truth, which
  // would take most of the time.
  static void record(const std::string& folder);
  // What was recorded.
  static std::vector<FileOperation> take();
  static void fail(const std::string& folder, const FileFault& fault);
  // Nothing is recorded, and nothing fails; fsync() is not made in truth.
  static void only_skip_syncs();

  static void mark(const std::string& text);
  // Of those that are points, since record() or fail().
  static uint64_t operations();
};

}  // namespace plimsoll::testing
