// Opening files with symbols: only where that is allowed, and with account of what was tried.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "elf/elf_file.h"

namespace plimsoll::symbolizer {

// Folders whose files may be opened because a profile, or a file in there, names them. Such a name comes from outside:
// it may only be a hint to a regular file in here, reached through no symbolic link out of here, with the build ID that
// was asked for.
struct SymbolRoots {
  std::vector<std::string> folders;
  std::vector<std::string> debug_folders = {};  // of separate debug files, such as /usr/lib/debug
};

// An ELF file that was found. Movable; what borrows its bytes stays valid.
struct FoundFile {
  std::string path;  // without symbolic links
  MappedFile map;
  elf::ElfFile elf;
};

// One search for the files of one binary. Remembers each path and what stood there, so that a later pass learns by a
// stat() for each whether the search could end otherwise. (The first thousand of them: of the files of split DWARF there may be
// any number, which come and go together.)
class FileSearch {
 public:
  // `opened`: is told the size of each file, before anything of it is read.
  explicit FileSearch(const SymbolRoots& roots, std::function<void(uint64_t bytes)> opened = {})
      : roots_(roots), opened_(std::move(opened)) {}

  // kDenied where the path lies outside the roots, kNotFound where there is nothing.
  Result<FoundFile> open(const std::string& path);

  // Remembers it as if it had been opened.
  void note(const std::string& path);

  // Notes a failure for reasons().
  void add_reason(std::string reason);

  // A line for each path that was tried, with the state of what is there; begins with the roots.
  std::string looked_at() const;
  // What went wrong, in words; empty where nothing did.
  std::string reasons() const;

  // Whether a path in the text of looked_at(), or the roots, have changed since.
  static bool has_changed(std::string_view looked_at, const SymbolRoots& roots);
  // Whether that text tells of the path.
  static bool has_tried(std::string_view looked_at, std::string_view path);

 private:
  const SymbolRoots& roots_;
  std::function<void(uint64_t bytes)> opened_;
  std::vector<std::string> tried_;  // with their states
  std::vector<std::string> reasons_;
};

}  // namespace plimsoll::symbolizer
