// What a binary says of its own making: compiler, revision of its source or package, and who built it.
#pragma once

#include <string>
#include <string_view>

#include "elf/loaded_image.h"

namespace plimsoll::elf {

// Printable, at most 256 bytes each; empty: unknown.
struct BuildFacts {
  std::string
      compiler;  // as it names itself: "GCC: (Debian 12.2.0-14) 12.2.0", "rustc version 1.70.0 (...)", "go1.19.8"
  std::string
      revision;  // of the package or, of Go programs, of the source; "+dirty" where that had been changed
  std::string builder;  // "rpm fedora 38": kind of package and the system it is for; "go" for the Go command
};

// From `.comment` (files only, and often stripped), `.note.package` and `.go.buildinfo`; what cannot be read is unknown.
// Where a Go program is packaged as well, the package's revision and builder hold. Some reads of a few KiB; no more than
// 1 MiB of Go's list of modules is read.
BuildFacts read_build_facts(const LoadedImage& image);

// The main compiler of those that the zero-terminated strings of a `.comment` name; empty where there is none. The C
// runtime brings its own compiler's name into every program, so that any other language's beats clang's, which beats
// GCC's, which beats an assembler's; of the same rank the newest version wins. Linkers are no compilers.
std::string main_compiler(std::string_view comment);

// Of the JSON in `.note.package` (uapi-group.org/specifications/specs/package_metadata_for_executable_files), with at most
// 16 KiB; empty where it is none.
BuildFacts package_facts(std::string_view json);

// Of the text that Go's `runtime/debug.BuildInfo` prints, without its compiler: lines of tab-separated fields.
BuildFacts go_module_facts(std::string_view module_info);

}  // namespace plimsoll::elf
