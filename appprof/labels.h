// Labels that the application sets on its threads, as sets with a number each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::appprof {

using Labels = std::vector<std::pair<std::string, std::string>>;

// The number of the calling thread's labels; 0: none. Inner labels hide outer ones of the same key; of more than 8 keys, and of
// more than 1000 scopes, the outer ones are left out. No lock, no allocation: reads the thread's own scopes, which only this
// thread changes, with the head written last in a push and first in a pop, so a signal handler finds whole ones. A set that
// finds no place in the table of 1024 sets is numbered kManyLabels.
uint32_t current_labels() noexcept;

constexpr uint32_t kManyLabels = 0xFFFFFFFF;

// What goes along with a stack that others keep.
struct StackNote {
  uint32_t labels = 0;    // as current_labels() numbers them
  uint8_t doublings = 0;  // of the sample's period (sample_limit.h)
  friend bool operator==(const StackNote&, const StackNote&) = default;
};

// A note as a frame that is no address of any machine, outside of all others; 0: there is nothing to note. And back.
constexpr uintptr_t kNoteFrame = 0x4C6162'00'0000'0000;
constexpr int kNoteBits = 40;
constexpr uintptr_t frame_of_note(StackNote note) {
  return note == StackNote{} ? 0 : kNoteFrame | uintptr_t{note.doublings} << 32 | note.labels;
}
constexpr StackNote note_of_frame(uintptr_t frame) {
  return frame >> kNoteBits == kNoteFrame >> kNoteBits
             ? StackNote{static_cast<uint32_t>(frame), static_cast<uint8_t>(frame >> 32)}
             : StackNote{};
}

// Empty where unknown. Not for signal handlers.
Labels labels_of(uint32_t number);

// "job=search"; what has no '=', or nothing before it, is left out.
void add_label(std::string_view pair, Labels& labels);

// Maps memory for the table; until then every set is numbered kManyLabels.
bool allocate_label_table() noexcept;

}  // namespace plimsoll::appprof
