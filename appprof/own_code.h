// Whether calls by a name arrive in this library.
#pragma once

namespace plimsoll::appprof {

// Whether the function that other libraries find by this name lies in the object that this code lies in. Its address in our own
// code would not tell: that is looked up by name too.
bool is_replaced_here(const char* function) noexcept;

}  // namespace plimsoll::appprof
