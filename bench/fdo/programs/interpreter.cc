// An interpreter with a switch of 500 instructions, on a random program. The argument: how many instructions, in millions.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

#define ONE(n)                   \
  case n:                        \
    if (((a ^ (n)) & 3U) == 0) { \
      a = a * (2 * (n) + 1) + b; \
    } else {                     \
      b ^= a >> ((n) % 13 + 1);  \
    }                            \
    break;
#define TEN(n) \
  ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define HUNDRED(n) \
  TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)

uint64_t interpret(const std::vector<uint16_t>& program, uint64_t instructions) {
  uint64_t a = 1;
  uint64_t b = 2;
  size_t at = 0;
  for (uint64_t i = 0; i < instructions; ++i) {
    switch (program[at]) {
      // clang-format off
      TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9)
      HUNDRED(1) HUNDRED(2) HUNDRED(3) HUNDRED(4)
      default:
        a += b;
      // clang-format on
    }
    at = at + 1 == program.size() ? 0 : at + 1;
  }
  return a ^ b;
}

}  // namespace

int main(int, char** argv) {
  uint64_t state = 88172645463325252U;
  std::vector<uint16_t> program;
  for (int i = 0; i < 5000; ++i) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    program.push_back(static_cast<uint16_t>(10 + state % 490));
  }
  const uint64_t millions = std::strtoull(argv[1], nullptr, 10);
  std::printf("%llu\n", static_cast<unsigned long long>(interpret(program, millions * 1000000)));
  return 0;
}
