// Linkage names of C++ with what libiberty does not read yet.
#pragma once

#include <libiberty/demangle.h>

#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::symbolizer {

// The first argument of the packs below: "(void)4242", which no compiler writes.
inline constexpr std::string_view kDeclarationMark = "Lv4242E";

// A C++ name as libiberty reads it, in place of one that clang 17 and gcc 14 and later mangle with declarations of template parameters ("Tn", "Tk",
// "Tt", "Tp"), constraints ("Q", "Dk", "DK"), constrained friends ("F") and explicit objects ("H"), or with an unresolved name that libiberty may misread ("sr" and a digit). None of this
// but the latter is printed. Back references
// count what stands in declarations: so the name keeps those that may be referred to, as packs of template arguments, which
// without_declarations() takes out of libiberty's tree. Nothing where the name has none of this, is no C++ name as a whole, or nests deeper
// than 256. Takes time by the length of the name. Any thread.
std::optional<std::string> in_older_mangling(std::string_view linkage_name);

// Takes out of a tree what in_older_mangling() has put into its name. Owns nothing.
void without_declarations(demangle_component& tree);

}  // namespace plimsoll::symbolizer
