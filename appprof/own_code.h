// Which object, this library or another, calls by a name arrive in.
#pragma once

namespace plimsoll::appprof {

// Whether the function that other libraries find by this name lies in the object that this code lies in. Its address in our own
// code would not tell: that is looked up by name too.
bool is_replaced_here(const char* function) noexcept;

bool are_addresses_of_one_object(const void* one, const void* other) noexcept;

// Whether two functions lie in the same object. False where one is null.
template <typename Call>
bool are_of_one_object(Call one, Call other) noexcept {
  return are_addresses_of_one_object(reinterpret_cast<const void*>(one),
                                     reinterpret_cast<const void*>(other));
}

}  // namespace plimsoll::appprof
