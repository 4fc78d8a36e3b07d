// The source files of a build: one tar archive (POSIX or GNU), which is kept and served as it came.
//
//   const auto sources = SourceArchive::parse(map.bytes());
//   const auto text = sources->find("/build/app/src/../lib/a.c");
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "base/result.h"

namespace plimsoll::symbolizer {

inline constexpr uint64_t kMaxSourceFiles = 100'000;
inline constexpr size_t kMaxSourcePathBytes = 4096;

// The path by which a source file is known, whether a compiler, a debugger or an archive wrote it: "usr/src/a.c" of "/usr/./src/lib/../a.c".
// Nothing for a path that is empty or too long, that has a zero byte, or whose ".." lead above its beginning.
std::optional<std::string> source_key(std::string_view path);

// By its first bytes; an ELF file is none.
bool is_source_archive(Bytes image);

// An index of the archive's files. Untrusted bytes, which are borrowed; any thread may read it.
class SourceArchive {
 public:
  // kInvalid for a name that leads out of the archive ("..") or has control characters, and for a name that occurs twice; kUnsupported for sparse
  // files and for an archive without files; kTooLarge beyond kMaxSourceFiles, and where the names have more than 16 MiB. Links, folders and
  // devices are passed over. Costs some 100 ns a file, and reads headers alone.
  static Result<SourceArchive> parse(Bytes archive);

  // The content of the file with the same source_key().
  std::optional<Bytes> find(std::string_view path) const;

  size_t files() const { return files_.size(); }

 private:
  std::map<std::string, Bytes, std::less<>> files_;  // by source_key()
};

}  // namespace plimsoll::symbolizer
