// Man pages, from the same descriptions as --help.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace plimsoll::cli {

// "plimsoll-top.1" in the language of man(7): name, synopsis, options, and what --help says below them. `name`: "plimsoll-top".
std::string man_page(const CLI::App& command, const std::string& name);

}  // namespace plimsoll::cli
