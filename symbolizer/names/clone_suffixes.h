// The suffixes that compilers give to the linkage names of a function's clones and parts.
#pragma once

#include <string_view>

namespace plimsoll::symbolizer {

// The linkage name of the function that a clone comes from: without what compilers, linkers and optimizers append where they split a
// function (.cold, .part.0, .__part.1, .eh), specialize it (.isra.0, .constprop.1, .memprof.2), keep an old copy (.org.0) or make the name of a
// local one unique (.llvm.1234, .__uniq.1234, .localalias, or a bare number), in any combination: any word with a number, and some
// without. A part of the argument. Any thread.
//
// Other suffixes stay, since they tell code apart that was written, or runs, as different functions: ._omp_fn.0, .resume, .avx2.0.
// What is left must be an identifier, or mangled: Go's main.init.0 and main.run.func1.2 are no clones. (Go's function main.cold
// is taken for a part of C's main all the same: nothing tells the two apart.)
std::string_view without_clone_suffixes(std::string_view linkage_name);

}  // namespace plimsoll::symbolizer
