// Ways to run a program: with the library, with its peers, and what each of them is compared with.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/harness/scratch_folder.h"

namespace plimsoll::bench {

enum class VariantKind {
  kBase,     // others are compared with it
  kLibrary,  // libplimsoll_appprof as it is deployed
  kPeer,     // another profiler
  kCause,    // one of the things that the library does, alone or in excess
};

struct Variant {
  std::string name;  // "appprof"
  VariantKind kind = VariantKind::kBase;
  std::string base;                    // the variant that it is compared with; empty: it is one of those
  std::vector<std::string> variables;  // "NAME=VALUE"
  std::vector<std::string> wrapper;    // before the program's own command line
};

struct Variants {
  std::vector<Variant> all;          // those that others are compared with first
  std::vector<std::string> skipped;  // "heaptrack: not installed"
};

// appprof, its causes (a library that only passes lock calls on, one that only starts a thread, appprof under a storm of requests),
// tcmalloc with its own sampling, and HEAPPROFILE, beside tcmalloc; heaptrack, which takes any allocator, beside the C library's.
// kNotFound without tcmalloc. `folder` takes what they write.
Result<Variants> variants(const ScratchFolder& folder);

// In PATH, else among the packages that scripts/install.sh --bench unpacks; empty: nowhere.
std::string find_program(const std::string& name);
// "LD_LIBRARY_PATH=...", for programs from there; empty: nothing is unpacked.
std::string unpacked_libraries();

}  // namespace plimsoll::bench
