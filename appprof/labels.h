// Labels that the application sets on its threads, as sets with a number each.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::appprof {

using Labels = std::vector<std::pair<std::string, std::string>>;

// The number of the calling thread's labels; 0: none. Inner labels hide outer ones of the same key; of more than 8 keys the
// outer ones are left out. No lock, no allocation: reads the thread's own scopes, which only this thread changes, with the head
// written last in a push and first in a pop, so a signal handler finds whole ones. A set that finds no place in the table of 1024
// sets is numbered kManyLabels.
uint32_t current_labels() noexcept;

constexpr uint32_t kManyLabels = 0xFFFFFFFF;

// Empty where unknown. Not for signal handlers.
Labels labels_of(uint32_t number);

// Maps memory for the table; until then every set is numbered kManyLabels.
bool allocate_label_table() noexcept;

}  // namespace plimsoll::appprof
