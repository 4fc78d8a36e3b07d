// A library with calls inlined into one another, across two files; dwarf_test reads its DWARF. The lines marked MARK are
// looked for by that name.
// NOLINTBEGIN
#include "inline_fixture.h"

namespace fixture {

volatile int source = 1;

namespace {

inline __attribute__((always_inline)) int middle(int x) {
  Accumulator accumulator;
  accumulator.add(x);  // MARK middle
  return accumulator.sum;
}

__attribute__((noinline)) int hidden(int x) {
  return middle(x) + source;  // MARK hidden
}

}  // namespace

__attribute__((noinline)) int outermost(int x) {
  const auto twice = [](int y) __attribute__((always_inline)) {
    return source + y + y;  // MARK lambda
  };
  return middle(x) + twice(x);  // MARK outermost
}

template <typename T>
__attribute__((noinline)) T in_template(T x) {
  return static_cast<T>(source) * x;  // MARK template
}

__attribute__((noinline)) int with_a_cold_part(int x) {
  if (x == source) {
    throw x;
  }
  return hidden(x) + in_template(2.0F) > 0;
}

}  // namespace fixture

extern "C" __attribute__((noinline)) int plain_c(int x) {
  int sum = 0;
  for (int i = 0; i < x; ++i) {
    sum += fixture::innermost(i);  // MARK plain_c
  }
  return sum + fixture::outermost(x) + fixture::with_a_cold_part(x);
}
// NOLINTEND
