// One of the libraries that library_storm loads at the same address in turn: the same code but for a name.
#include <cstddef>

namespace {

constexpr size_t kPageBytes = 4096;

}  // namespace

// PLIMSOLL_LIBRARY_FUNCTION is work_of_left or work_of_right.
extern "C" [[gnu::visibility("default")]] void PLIMSOLL_LIBRARY_FUNCTION(volatile char* pages, size_t count) {
  for (size_t page = 0; page < count; ++page) {
    pages[page * kPageBytes] = 'x';
  }
}
