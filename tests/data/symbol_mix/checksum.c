// NOLINTBEGIN
#include "bits.h"
#include "parts.h"

static unsigned table[256];

static unsigned step(unsigned state, unsigned char byte) {
  return table[(state ^ byte) & 255U] ^ (state >> 8U);
}

static __attribute__((noinline)) void fill(unsigned polynomial) {
  for (unsigned i = 0; i < 256; ++i) {
    unsigned value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = value & 1U ? (value >> 1U) ^ polynomial : value >> 1U;
    }
    table[i] = value;
  }
}

static __attribute__((noinline)) unsigned finish(unsigned state, size_t size) {
  switch (size % 5) {
    case 0:
      return blend(state, 17);
    case 1:
      return blend(blend(state, 3), 4);
    case 2:
      return rotate(state, 11) + (unsigned)size;
    case 3:
      return ~blend(~state, (unsigned)size);
    default:
      return state;
  }
}

unsigned checksum(const unsigned char* bytes, size_t size) {
  if (table[1] == 0) {
    fill(0xedb88320U);
  }
  unsigned state = ~0U;
  for (size_t i = 0; i < size; ++i) {
    state = step(state, bytes[i]);
  }
  return finish(state, size);
}

unsigned same_checksum(const unsigned char* bytes, size_t size) __attribute__((alias("checksum")));
// NOLINTEND
