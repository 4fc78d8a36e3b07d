// Randomness from the kernel, for identifiers and seeds. Simulations and tests seed their own generators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace plimsoll {

// `size` random bytes (getrandom); ends the process if the kernel has none, which it never does after boot.
std::string random_bytes(size_t size);

uint64_t random_seed();

}  // namespace plimsoll
