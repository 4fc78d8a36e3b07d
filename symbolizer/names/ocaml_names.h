// Linkage names of OCaml's native compilers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::symbolizer {

// "camlStdlib__List__map_1234" and, since OCaml 5.1, "camlStdlib__List.map_1234": "Stdlib.List.map". The number that tells functions of
// one name apart goes, except of functions without a name ("fun_1234"). Nothing where it is no such name: functions of the runtime, in C, are
// called caml_... (asmcomp/compilenv.ml and cmm_helpers.ml of OCaml's sources). Any thread.
std::optional<std::string> ocaml_name(std::string_view linkage_name);

}  // namespace plimsoll::symbolizer
