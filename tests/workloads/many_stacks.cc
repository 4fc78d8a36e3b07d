// A program whose stacks are all different: a random walk through eight functions, 60 calls deep, over and over.
//
//   many_stacks SECONDS
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>

namespace {

constexpr int kDeepest = 60;

using Step = uint64_t (*)(std::mt19937_64& random, int depth);
uint64_t walk(std::mt19937_64& random, int depth);

// Something is left to do after each call, so that none becomes a jump.
template <int kWhich>
__attribute__((noinline)) uint64_t step(std::mt19937_64& random, int depth) {
  const uint64_t below = depth < kDeepest ? walk(random, depth + 1) : random();
  return below * 3 + kWhich;
}

uint64_t walk(std::mt19937_64& random, int depth) {
  static constexpr std::array<Step, 8> kSteps{step<0>, step<1>, step<2>, step<3>,
                                              step<4>, step<5>, step<6>, step<7>};
  return kSteps[random() % kSteps.size()](random, depth);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::mt19937_64 random(1);
  uint64_t sum = 0;
  while (std::chrono::steady_clock::now() < end) {
    sum += walk(random, 0);
  }
  return sum == 0 ? 1 : 0;
}
