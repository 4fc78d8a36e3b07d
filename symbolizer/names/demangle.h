// Linkage names as people read them.
//
//   display_name("_ZNSt6vectorIiSaIiEE9push_backERKi.isra.0")   "std::vector<int, std::allocator<int> >::push_back(int const&)"
//   display_name("schedule.part.0", {.demangle = false})        "schedule"
//
// The linkage name itself is what identifies a function, clones told apart; store/frames keeps both.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::symbolizer {

struct NameForm {
  bool demangle = true;
  bool fold_clones = true;  // parts and clones are called like the function they come from (clone_suffixes.h)
  bool shorten_templates = false;  // "std::vector<...>" (template_arguments.h)
};

// The display name of a linkage name: C++ (Itanium) and Rust (_R..., and _ZN...17h<hash>E without the hash) demangled; of D, Swift and OCaml the
// qualified name, without parameters (d_names.h, swift_names.h, ocaml_names.h); without a symbol version ("@@GLIBC_2.34"). Anything else has
// the name that it is linked by: Go's, Zig's and C's are readable.
//
// Names come from outside: those that are too long to demangle (4 KiB), nest too deeply, or stand for too much text
// (16 KiB) stay as they are. Any thread.
std::string display_name(std::string_view linkage_name, const NameForm& form = {});

// Whether a name is of a scheme that display_name() reads: begins as one of C++ or Rust, or is one of D, Swift or OCaml.
bool is_mangled(std::string_view name);

}  // namespace plimsoll::symbolizer
