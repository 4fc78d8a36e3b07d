// The versions that linkers append to the names of symbols: memcpy@@GLIBC_2.14, memcpy@GLIBC_2.2.5.
#pragma once

#include <string_view>

namespace plimsoll::symbolizer {

// A linkage name in parts, of its own text: name, version, clones.
struct VersionedName {
  std::string_view name;     // the linkage name without the rest
  std::string_view version;  // "GLIBC_2.14"; empty: none
  // What compilers append to a name that .symver has given a function: "foo@V1.cold" has ".cold". Empty without a version.
  std::string_view clones;
  // Linked by programs that were built long ago alone ("@"): another version is the default one ("@@").
  bool is_old = false;
};

// Only what can be a version is one: names of other languages have an '@' of their own ("LazyCompile:run /node_modules/@scope/run.js:3"),
// and "memcpy@plt" is code of its own, which calls memcpy. Any thread.
VersionedName split_version(std::string_view linkage_name);

}  // namespace plimsoll::symbolizer
