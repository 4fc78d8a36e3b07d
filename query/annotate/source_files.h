// The text of source lines, from what was uploaded as sources of the build, from folders and from servers
// that the operator names; from nowhere else.
//
// What a binary's debug information calls its source files comes from outside: such a path is a hint to a file below a root, never a path
// that is opened as it is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/annotate/annotation.h"

namespace plimsoll::annotate {

// A folder of source files, as it is configured: "/srv/src", or "/build/dir = /srv/src": what the compiler knew as /build/dir.
struct SourceRoot {
  std::string prefix;  // without '/' at its end; empty: none
  std::string folder;
};

// kInvalid where the text is empty, or one of its paths is not absolute.
Result<SourceRoot> parse_source_root(std::string_view text);
Result<std::vector<SourceRoot>> parse_source_roots(const std::vector<std::string>& texts);

// The path below a root's folder at which a source file would lie, without "." and ".."; nothing where it cannot lie in there: a path that
// leads above its beginning, is empty, too long or has a zero byte. With a prefix: what follows it. Without: what follows the folder's
// own path, else the whole path, as below the root of another system.
std::optional<std::string> path_below(const SourceRoot& root, std::string_view path);

// The content of the first root's file of that path. Regular files alone, up to 16 MiB, reached through no symbolic link and through
// nothing outside of the folder; devices and pipes are not opened. kNotFound where no root has it.
Result<std::string> read_source(const std::vector<SourceRoot>& roots, std::string_view path);

// Where a build's source files may be.
struct SourcePlaces {
  std::vector<SourceRoot> roots = {};
  // Path of the archive in the repository of binaries (kept_path()), which comes first: it is of this very build. Empty, or no such file: none.
  std::string archive = {};
  // Asked last, for the text of a file by its path in debug information; empty: there is nobody to ask.
  std::function<std::optional<std::string>(std::string_view path)> fetch = {};
};

// Sets the text of the lines that the annotated code comes from, of at most 256 files and 64 MiB. Notes say which files have none, and
// that limits were reached.
// Does I/O.
void read_sources(const SourcePlaces& places, Annotation& annotation);

}  // namespace plimsoll::annotate
