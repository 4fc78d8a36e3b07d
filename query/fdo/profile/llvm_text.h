// LLVM's sample profiles as text (https://clang.llvm.org/docs/UsersManual.html#sample-profile-text-format), which clang, llvm-profdata
// and people read.
//
//   main:184019:0
//    4: 534
//    4.2: 534
//    9: 2064 _Z3bar:1471 _Z3foo:631
//    10: inline1:1000
//     1: 1000
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "query/fdo/profile/sample_profile.h"

namespace plimsoll::fdo {

// Functions by falling total, then name; the same profile gives the same text.
std::string write_llvm_text(const SampleProfile& profile);

struct TextLimits {
  size_t max_bytes = size_t{1} << 30U;
  size_t max_line_bytes = size_t{1} << 20U;  // a line has the calls of one line of source
  size_t max_depth = 500;                    // of calls inlined into each other
};

// For comparisons with other tools' profiles: no command reads one yet. The text may come from anywhere. Functions and lines that stand in it twice are added up. Profiles with contexts ("[main:3 @ foo]:...")
// or of pseudo probes are refused (kUnsupported). An error names the line.
Result<SampleProfile> read_llvm_text(std::string_view text, const TextLimits& limits = {});

}  // namespace plimsoll::fdo
