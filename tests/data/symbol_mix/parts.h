// What the files of this program call of one another. It is there to be compiled with every form of DWARF, so that
// random addresses of it are looked up: many short functions, inlined into one another over several files, functions of
// the same name in several files, templates, lambdas, code split off, aliases, thunks, C, C++ and assembly.
// NOLINTBEGIN
#ifndef SYMBOL_MIX_PARTS_H
#define SYMBOL_MIX_PARTS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
unsigned checksum(const unsigned char* bytes, size_t size);
unsigned same_checksum(const unsigned char* bytes, size_t size);
unsigned ring_sum(unsigned seed, unsigned rounds);
unsigned by_hand(unsigned x);
#ifdef __cplusplus
}
unsigned matrices(unsigned seed);
unsigned shapes(unsigned seed);
unsigned words(const char* text);
#endif

#endif
// NOLINTEND
