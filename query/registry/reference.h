// docs/views.md.
#pragma once

#include <string>

namespace plimsoll::query {

// Markdown: an overview of all views; then of each its parameters as the command line and as the API have them, and its columns.
std::string view_reference();

}  // namespace plimsoll::query
