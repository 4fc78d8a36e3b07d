#include "appprof/cpu.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "appprof/mappings.h"

extern "C" {
__attribute__((weak)) int ProfilerStart(const char* path);
__attribute__((weak)) void ProfilerStop();
__attribute__((weak)) int ProfilingIsEnabledForAllThreads();
}

namespace plimsoll::appprof {
namespace {

constexpr const char* kProfilerLibrary = "libprofiler.so.0";

struct Profiler {
  int (*start)(const char*) = nullptr;
  void (*stop)() = nullptr;
  int (*is_enabled)() = nullptr;
  explicit operator bool() const { return start != nullptr && stop != nullptr && is_enabled != nullptr; }
};

Profiler linked_profiler() {
  return {&::ProfilerStart, &::ProfilerStop, &::ProfilingIsEnabledForAllThreads};
}

Profiler find_profiler() {
  if (const Profiler linked = linked_profiler()) {
    return linked;
  }
  void* library = ::dlopen(kProfilerLibrary, RTLD_NOW | RTLD_LOCAL);  // stays: its handler does
  if (library == nullptr) {
    return {};
  }
  return {reinterpret_cast<int (*)(const char*)>(::dlsym(library, "ProfilerStart")),
          reinterpret_cast<void (*)()>(::dlsym(library, "ProfilerStop")),
          reinterpret_cast<int (*)()>(::dlsym(library, "ProfilingIsEnabledForAllThreads"))};
}

}  // namespace

bool has_profiler() {
  if (linked_profiler()) {
    return true;
  }
  for (const char* folder :
       {"/usr/lib/x86_64-linux-gnu/", "/usr/lib/aarch64-linux-gnu/", "/usr/lib64/", "/usr/local/lib/"}) {
    if (::access((std::string(folder) + kProfilerLibrary).c_str(), R_OK) == 0) {
      return true;
    }
  }
  return false;
}

std::string take_cpu_profile(const std::function<void()>& wait, std::string& profile) {
  const Profiler profiler = find_profiler();
  if (!profiler) {
    return "no CPU profiles: libprofiler.so.0 of gperftools is neither linked nor found\n";
  }
  if (profiler.is_enabled() != 0) {
    return "the CPU profiler is already running, for the application itself\n";
  }
  // Memory with a path: libprofiler takes paths alone.
  const int file = ::memfd_create("appprof-cpu", MFD_CLOEXEC);
  if (file < 0) {
    return "no memory for a CPU profile\n";
  }
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  std::string why;
  if (profiler.start(path.c_str()) == 0) {
    why = "libprofiler does not start: another handler of SIGPROF is installed\n";
  } else {
    wait();
    profiler.stop();
    profile = read_file(path.c_str());
  }
  ::close(file);
  return why;
}

Profile parse_cpu_profile(std::string_view written) {
  Profile profile;
  profile.types = {{"samples", "count"}, {"cpu", "nanoseconds"}};
  profile.period_type = {"cpu", "nanoseconds"};
  profile.time_ns = unix_time_ns();
  bool is_whole = true;
  const auto next = [&]() -> uintptr_t {
    uintptr_t word = 0;
    if (written.size() < sizeof(word)) {
      is_whole = false;
      return 0;
    }
    std::memcpy(&word, written.data(), sizeof(word));
    written.remove_prefix(sizeof(word));
    return word;
  };
  // 0, the words of the head that follow, the version, the period in us, padding.
  std::array<uintptr_t, 5> head{};
  for (uintptr_t& word : head) {
    word = next();
  }
  if (!is_whole || head[0] != 0 || head[1] != 3 || head[2] != 0) {
    return profile;
  }
  profile.period = static_cast<int64_t>(head[3]) * 1000;
  while (is_whole) {
    const uintptr_t count = next();
    const uintptr_t depth = next();
    // 0, 1, 0 ends it.
    if (!is_whole || count == 0 || depth > written.size() / sizeof(uintptr_t)) {
      break;
    }
    Sample sample;
    sample.is_leaf_exact = true;
    for (uintptr_t i = 0; i < depth; ++i) {
      sample.stack.push_back(next());
    }
    sample.values = {static_cast<double>(count),
                     static_cast<double>(count) * static_cast<double>(profile.period)};
    profile.samples.push_back(std::move(sample));
  }
  merge_equal(profile);
  return profile;
}

}  // namespace plimsoll::appprof
