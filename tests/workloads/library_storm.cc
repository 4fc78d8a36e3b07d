// Loads two libraries in turn, each where the other was before, and faults in pages from a function of each. While it works
// in one, its thread is named like it, so that a sample tells by its thread which library it must lie in.
//
//   library_storm SECONDS FOLDER   with left.so and right.so of that folder
//
// Prints how many pages it has touched, how many libraries it has loaded, and how many of them lay where the first did.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kPages = 32;
constexpr int64_t kNsPerSecond = 1'000'000'000;

using Work = void (*)(volatile char* pages, size_t count);

struct Library {
  const char* name;
  const char* function;
};

constexpr std::array<Library, 2> kLibraries{{{"left", "work_of_left"}, {"right", "work_of_right"}}};

int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

// Where its function lay; null: there is no such library.
Work work_in(const Library& library, const std::string& folder, char* pages) {
  void* const handle = ::dlopen((folder + "/" + library.name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto work = handle == nullptr ? nullptr : reinterpret_cast<Work>(::dlsym(handle, library.function));
  if (work == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return nullptr;
  }
  ::madvise(pages, kPages * kPageBytes, MADV_DONTNEED);
  ::prctl(PR_SET_NAME, library.name);
  work(pages, kPages);
  ::prctl(PR_SET_NAME, "between");
  ::dlclose(handle);
  return work;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: library_storm SECONDS FOLDER\n");
    return 2;
  }
  void* const memory =
      ::mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return 1;
  }
  ::madvise(memory, kPages * kPageBytes, MADV_NOHUGEPAGE);
  const auto end_ns = now_ns() + static_cast<int64_t>(std::strtod(argv[1], nullptr) * kNsPerSecond);
  Work first = nullptr;
  long loaded = 0;
  long at_first = 0;
  for (; now_ns() < end_ns; ++loaded) {
    const Library& library = kLibraries[static_cast<size_t>(loaded) % kLibraries.size()];
    const Work work = work_in(library, argv[2], static_cast<char*>(memory));
    if (work == nullptr) {
      return 1;
    }
    first = first == nullptr ? work : first;
    at_first += work == first ? 1 : 0;
  }
  std::printf("%ld %ld %ld\n", loaded * static_cast<long>(kPages), loaded, at_first);
  return 0;
}
