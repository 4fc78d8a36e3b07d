// Opening the ELF file that a process has mapped, even where its path leads elsewhere by now.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "capture/identity/proc_fs.h"
#include "elf/loaded_image.h"

namespace plimsoll::identity {

// What is known of a mapped file before opening it.
struct MappedFileHint {
  uint32_t pid = 0;
  std::string_view path;      // in the process's mount namespace
  std::string_view build_id;  // as the kernel told it; empty: not told
  FileId file;                // likewise
  uint64_t generation = 0;    // of its inode's number; 0: not told
  // The kernel told a build ID in place of the file, and it was of zeros only: the file has none.
  bool is_without_build_id = false;
  // Processes that `pid` descends from, nearest first; 0: no more are known. They mostly see the same files, and live longer.
  std::array<uint32_t, 4> ancestors = {};
};

struct OpenedImage {
  elf::LoadedImage image;
  std::shared_ptr<const UniqueFd> fd;  // of the file; null where the image was read from the process's memory
  std::string name;                    // where it was found
};

// Tries, in this order: the path in the process's root, the process's executable, the same path here (for processes that
// are gone), and the process's memory. Each must be the mapped file: by its build ID where the hint has one, else by
// device and inode. The error says what was wrong with the first.
Result<OpenedImage> open_image(const ProcFs& proc_fs, const MappedFileHint& hint);

// Who finds the files that processes have mapped: on the machine where they run, or wherever a recording is read.
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  virtual Result<OpenedImage> open(const MappedFileHint& hint) const = 0;
  // When the file that open() would find was last written or changed in its attributes (ctime); 0: out of reach.
  virtual int64_t changed_ns(const MappedFileHint& /*hint*/) const { return 0; }
  // Whether the processes run here: then this program's vdso is theirs.
  virtual bool are_of_this_machine() const = 0;
};

// Those of live processes, by open_image(). Borrows `proc_fs`.
class LiveImages : public ImageSource {
 public:
  explicit LiveImages(const ProcFs& proc_fs) : proc_fs_(proc_fs) {}
  Result<OpenedImage> open(const MappedFileHint& hint) const override;
  int64_t changed_ns(const MappedFileHint& hint) const override;
  bool are_of_this_machine() const override { return true; }

  // How many could not be opened because this user may not. One thread.
  size_t denied() const { return denied_; }

 private:
  const ProcFs& proc_fs_;
  mutable size_t denied_ = 0;
};

}  // namespace plimsoll::identity
