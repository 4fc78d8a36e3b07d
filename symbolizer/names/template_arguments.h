// Display names without the arguments of their templates, which can be longer than all the rest.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::symbolizer {

// Each list of template arguments replaced by "<...>", those of a generic function of Go by "[...]":
//
//   std::vector<int, std::allocator<int> >::push_back(int const&)   std::vector<...>::push_back(int const&)
//   bool operator< <int>(A<int>, A<int>)                            bool operator< <...>(A<...>, A<...>)
//   <alloc::vec::Vec<T> as core::ops::drop::Drop>::drop             <alloc::vec::Vec<...> as core::ops::drop::Drop>::drop
//   main.Map[go.shape.int]                                          main.Map[...]
//
// A list opens right behind a name, an operator, "]" (of [abi:cxx11]) or "::". All else in brackets stays, shortened within:
// parameters, (anonymous namespace), {lambda(int)#1} and <lambda(int)>, Rust's <T as Trait> and <impl Trait for T>, empty lists. The
// angles of operators (operator->, operator<<, a comparison within an argument) are none. A name whose brackets do not match stays
// as it is. Takes time in proportion to the name; gives at most twice its length. Any thread.
std::string shorten_template_arguments(std::string_view display_name);

}  // namespace plimsoll::symbolizer
