// The part of inline_fixture.cc that stands in another file.
// NOLINTBEGIN
#pragma once

namespace fixture {

extern volatile int source;

inline __attribute__((always_inline)) int innermost(int x) {
  return source + x;  // MARK innermost
}

struct Accumulator {
  int sum = 0;
  inline __attribute__((always_inline)) void add(int x) {
    sum += innermost(x) * 3;  // MARK add
  }
};

}  // namespace fixture
// NOLINTEND
