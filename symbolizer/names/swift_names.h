// Linkage names of Swift.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::symbolizer {

// "$s4main5StackV4pushyySiF": "main.Stack.push". Of a function the path of its declaration: modules, types, its own name, and what of it
// this is ("main.Stack.count.getter", "main.Stack.init", "closure in main.run"); no parameters, and of generic types no arguments.
//
// Nothing where it is no such name, or one of whose declaration the path alone does not tell: witnesses of protocols, what the compiler
// makes of types, declarations in constrained extensions (docs/ABI/Mangling.rst of Swift's sources). Any thread.
std::optional<std::string> swift_name(std::string_view linkage_name);

}  // namespace plimsoll::symbolizer
