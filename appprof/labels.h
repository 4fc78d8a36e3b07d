// Labels that the application sets on its threads, as sets with a number each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

// A number as a frame that is no address of any machine, for stacks that others keep; and back: 0 where it is none.
constexpr uintptr_t kLabelFrame = 0x4C61'6265'0000'0000;
constexpr uintptr_t frame_of_labels(uint32_t number) {
  return kLabelFrame | number;
}
constexpr uint32_t labels_of_frame(uintptr_t frame) {
  return (frame & ~uintptr_t{UINT32_MAX}) == kLabelFrame ? static_cast<uint32_t>(frame) : 0;
}

// Empty where unknown. Not for signal handlers.
Labels labels_of(uint32_t number);

// "job=search"; what has no '=', or nothing before it, is left out.
void add_label(std::string_view pair, Labels& labels);

// Maps memory for the table; until then every set is numbered kManyLabels.
bool allocate_label_table() noexcept;

}  // namespace plimsoll::appprof
