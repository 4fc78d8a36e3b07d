// Text from outside inside XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::query {

// printable() (base/printable.h), with references in place of <, >, & and ": fit for the content of an element, and for an attribute
// in double quotes.
std::string escaped_markup(std::string_view text);

}  // namespace plimsoll::query
