// The part of deep_split that lies in a shared library.
#pragma once

#include <cstdint>

uint64_t library_digest(uint64_t seed, uint64_t rounds);
