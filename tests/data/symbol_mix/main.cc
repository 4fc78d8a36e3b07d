// NOLINTBEGIN
#include <cstdio>
#include <cstring>

#include "bits.h"
#include "parts.h"

namespace {

unsigned step(unsigned argument) {
  return blend(argument, ring_sum(argument, 100)) + by_hand(argument);
}

}  // namespace

int main(int argc, char** argv) {
  unsigned sum = step(static_cast<unsigned>(argc));
  for (int i = 0; i < argc; ++i) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(argv[i]);
    sum += checksum(bytes, std::strlen(argv[i])) ^ same_checksum(bytes, 1);
    sum += words(argv[i]) + matrices(sum) + shapes(sum);
  }
  std::printf("%u\n", sum);
  return 0;
}
// NOLINTEND
