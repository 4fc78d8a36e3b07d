// Inlined into each file of the program, C and C++ alike.
// NOLINTBEGIN
#ifndef SYMBOL_MIX_BITS_H
#define SYMBOL_MIX_BITS_H

static inline unsigned rotate(unsigned x, unsigned by) {
  return (x << (by & 31U)) | (x >> ((32U - by) & 31U));
}

static inline unsigned blend(unsigned x, unsigned y) {
  unsigned z = rotate(x ^ y, 7) * 0x9e3779b1U;
  if (z & 1U) {
    z += rotate(y, x);
  }
  return z;
}

#endif
// NOLINTEND
