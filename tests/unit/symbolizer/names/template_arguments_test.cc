#include "symbolizer/names/template_arguments.h"

#include <gtest/gtest.h>

#include <string>

namespace plimsoll::symbolizer {
namespace {

struct Shortened {
  std::string_view name;
  std::string_view to;
};

void expect_all(std::initializer_list<Shortened> cases) {
  for (const auto& [name, to] : cases) {
    EXPECT_EQ(shorten_template_arguments(name), to) << name;
    EXPECT_EQ(shorten_template_arguments(to), to) << "shortened again";
  }
}

TEST(TemplateArguments, AListIsLeftOutWithAllItEncloses) {
  expect_all({
      {"std::vector<int, std::allocator<int> >::push_back(int const&)",
       "std::vector<...>::push_back(int const&)"},
      {"std::vector<int, std::allocator<int>>::push_back(int const&)",
       "std::vector<...>::push_back(int const&)"},
      {"f(std::map<int, A<1> > const&, int)", "f(std::map<...> const&, int)"},
      {"void apply<A::*(int)>(void (*)(int))", "void apply<...>(void (*)(int))"},
      {"std::function<void (int)>::operator()(int) const", "std::function<...>::operator()(int) const"},
      {"A<(2)>(1)>::f()", "A<(2)>(1)>::f()"},  // as nobody writes it: the brackets do not match
      {"A<((2)>(1))>::f()", "A<...>::f()"},
      {"A<((1)<<(2))>::f()", "A<...>::f()"},
      {"A<((1)<(2)), int>::f()", "A<...>::f()"},
      {"std::enable_if<(sizeof (T))<=(8), int>::type f<T>(T)", "std::enable_if<...>::type f<...>(T)"},
      {"decltype (((declval<T>)())->begin()) f<T>(T)", "decltype (((declval<...>)())->begin()) f<...>(T)"},
      {"A[abi:cxx11]<int>::f()", "A[abi:cxx11]<...>::f()"},
      {"A<int>::B<char>::C<&(g<int>())>::f()", "A<...>::B<...>::C<...>::f()"},
      {"void f<>()", "void f<>()"},
      {"vtable for A<int>", "vtable for A<...>"},
      {"f<int>(int) [clone .part.0]", "f<...>(int) [clone .part.0]"},
  });
}

TEST(TemplateArguments, OperatorsKeepTheirNames) {
  expect_all({
      {"operator<(A, A)", "operator<(A, A)"},
      {"bool operator< <int>(A<int>, A<int>)", "bool operator< <...>(A<...>, A<...>)"},
      {"operator<<(std::basic_ostream<char>&, int)", "operator<<(std::basic_ostream<...>&, int)"},
      {"s& operator<< <char>(s&, char)", "s& operator<< <...>(s&, char)"},
      {"A::operator<=>(A const&) const", "A::operator<=>(A const&) const"},
      {"A::operator<<=(int)", "A::operator<<=(int)"},
      {"A::operator>>=<int>(int)", "A::operator>>=<...>(int)"},
      {"A<int>::operator->() const", "A<...>::operator->() const"},
      {"A::operator->*<int>(int)", "A::operator->*<...>(int)"},
      {"bool operator><int>(A<int>, A<int>)", "bool operator><...>(A<...>, A<...>)"},
      {"auto A::operator()<int>(int) const", "auto A::operator()<...>(int) const"},
      {"A operator+<int>(A, A)", "A operator+<...>(A, A)"},
      {"bool operator==<int, char>(A, A)", "bool operator==<...>(A, A)"},
      {"A& operator,<int>(A, A)", "A& operator,<...>(A, A)"},
      {"A::operator[]<int>(int)", "A::operator[]<...>(int)"},
      {"A::operator new<int>(unsigned long)", "A::operator new<...>(unsigned long)"},
      {"operator new[](unsigned long)", "operator new[](unsigned long)"},
      {"A::operator std::vector<int>()", "A::operator std::vector<...>()"},
      {"A::operator B*<int>()", "A::operator B*<int>()"},  // a "<" behind "*" opens no list
      {"X<&(A::operator< )>::f()", "X<...>::f()"},
      {"X<&A::operator-> >::f()", "X<...>::f()"},
      {"my_operator<int>()", "my_operator<...>()"},
      {"operators<int>()", "operators<...>()"},
      {"long double operator\"\" _km<char>()", "long double operator\"\" _km<...>()"},
  });
}

TEST(TemplateArguments, WhatIsNoTemplateStaysAndIsShortenedWithin) {
  expect_all({
      {"(anonymous namespace)::f(A<int>)", "(anonymous namespace)::f(A<...>)"},
      {"main::{lambda(std::vector<int>)#1}::operator()(std::vector<int>) const",
       "main::{lambda(std::vector<...>)#1}::operator()(std::vector<...>) const"},
      {"ns::<lambda(A<int>)>::operator()", "ns::<lambda(A<...>)>::operator()"},
      {"f(int (*)(A<int>), int (&) [3])", "f(int (*)(A<...>), int (&) [3])"},
      {"main", "main"},
      {"", ""},
  });
}

TEST(TemplateArguments, OfRust) {
  expect_all({
      {"core::ptr::drop_in_place<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place<...>"},
      {"alloc::vec::Vec<T>::push", "alloc::vec::Vec<...>::push"},
      {"core::iter::once::<&str>", "core::iter::once::<...>"},
      {"<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
       "<alloc::vec::Vec<...> as core::ops::drop::Drop>::drop"},
      {"core::fmt::num::<impl core::fmt::Display for A<u8>>::fmt",
       "core::fmt::num::<impl core::fmt::Display for A<...>>::fmt"},
      {"<fn() -> i32 as A<(u8,)>>::call", "<fn() -> i32 as A<...>>::call"},
      {"std::rt::lang_start::{{closure}}", "std::rt::lang_start::{{closure}}"},
      {"f::<[u8; 4], <A as B>::C>", "f::<...>"},
      {"<[T] as A<[T; 4]>>::f", "<[T] as A<...>>::f"},
  });
}

TEST(TemplateArguments, OfGo) {
  expect_all({
      {"main.Map[go.shape.int,go.shape.string]", "main.Map[...]"},
      {"main.(*List[go.shape.[]int]).Push", "main.(*List[...]).Push"},
      {"main.Run[<-chan int].func1", "main.Run[...].func1"},
      {"type..eq.[2]string", "type..eq.[2]string"},
  });
}

TEST(TemplateArguments, WhereBracketsDoNotMatchTheNameStays) {
  for (const std::string_view name :
       {"f<", "f<int", "f>", "f<int)>", "f(<)", "f<(int>)", "]", "f<int>>", "a<b(c>)"}) {
    EXPECT_EQ(shorten_template_arguments(name), name);
  }
}

TEST(TemplateArguments, DeepNestingTakesNoStack) {
  std::string name = "f";
  for (int i = 0; i < 1'000'000; ++i) {
    name += "<a";
  }
  name += std::string(1'000'000, '>');
  EXPECT_EQ(shorten_template_arguments(name), "f<...>");
}

}  // namespace
}  // namespace plimsoll::symbolizer
