#include "bench/appprof/variants.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>
#include <vector>

#include "bench/harness/child.h"

namespace plimsoll::bench {
namespace {

constexpr const char* kTcmalloc = "/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4";

bool is_there(const std::string& path) {
  return ::access(path.c_str(), R_OK) == 0;
}

std::string unpacked(const std::string& path) {
  return sibling_program("../bench-packages") + path;
}

std::string preload_with_tcmalloc(const std::string& library) {
  return fmt::format("LD_PRELOAD={}:{}", library, kTcmalloc);
}

std::string profiled_library() {
  return sibling_program("libplimsoll_appprof.so");
}
// Passes lock calls on, and does nothing else.
std::string pass_through_library() {
  return sibling_program("libappprof_bench_pass_through.so");
}
// Starts a thread, and does nothing else.
std::string idle_thread_library() {
  return sibling_program("libappprof_bench_idle_thread.so");
}
std::string storm_program() {
  return sibling_program("appprof_bench_storm");
}

// The parts of the cost that any library has which stands before the lock functions, or has a thread of its own; and the library with more
// requests than it answers.
std::vector<Variant> causes(const ScratchFolder& folder) {
  const std::string socket = folder / "storm.sock";
  return {{.name = "pass-through",
           .kind = VariantKind::kCause,
           .base = "tcmalloc",
           .variables = {preload_with_tcmalloc(pass_through_library())},
           .wrapper = {}},
          {.name = "idle-thread",
           .kind = VariantKind::kCause,
           .base = "tcmalloc",
           .variables = {preload_with_tcmalloc(idle_thread_library())},
           .wrapper = {}},
          {.name = "storm",
           .kind = VariantKind::kCause,
           .base = "tcmalloc",
           .variables = {preload_with_tcmalloc(profiled_library()), "PLIMSOLL_APPPROF_LISTEN=unix:" + socket},
           .wrapper = {storm_program(), socket}}};
}

}  // namespace

std::string find_program(const std::string& name) {
  const char* text = std::getenv("PATH");
  std::istringstream folders(text == nullptr ? "/usr/bin" : text);
  for (std::string folder; std::getline(folders, folder, ':');) {
    folder.append("/").append(name);
    if (is_there(folder)) {
      return folder;
    }
  }
  const std::string path = unpacked("/usr/bin/" + name);
  return is_there(path) ? path : std::string();
}

std::string unpacked_libraries() {
  const std::string folder = unpacked("/usr/lib/x86_64-linux-gnu");
  return is_there(folder) ? "LD_LIBRARY_PATH=" + folder : std::string();
}

Result<Variants> variants(const ScratchFolder& folder) {
  for (const std::string& needed : {std::string(kTcmalloc), profiled_library(), pass_through_library(),
                                    idle_thread_library(), storm_program()}) {
    if (!is_there(needed)) {
      return with_hint(fail(ErrorCode::kNotFound, "{} is missing", needed),
                       "scripts/install.sh --tests installs tcmalloc; build appprof_bench");
    }
  }
  const std::string tcmalloc = fmt::format("LD_PRELOAD={}", kTcmalloc);
  Variants found;
  found.all = {
      {.name = "plain", .kind = VariantKind::kBase, .base = "", .variables = {}, .wrapper = {}},
      {.name = "tcmalloc", .kind = VariantKind::kBase, .base = "", .variables = {tcmalloc}, .wrapper = {}},
      {.name = "appprof",
       .kind = VariantKind::kLibrary,
       .base = "tcmalloc",
       .variables = {preload_with_tcmalloc(profiled_library()),
                     "PLIMSOLL_APPPROF_LISTEN=unix:" + (folder / "appprof.sock")},
       .wrapper = {}},
      // The part of the cost that is the allocator's own.
      {.name = "tcmalloc-sampling",
       .kind = VariantKind::kPeer,
       .base = "tcmalloc",
       .variables = {tcmalloc, "TCMALLOC_SAMPLE_PARAMETER=524288"},
       .wrapper = {}},
      {.name = "HEAPPROFILE",
       .kind = VariantKind::kPeer,
       .base = "tcmalloc",
       .variables = {tcmalloc, "HEAPPROFILE=" + (folder / "heap")},
       .wrapper = {}}};
  for (Variant& cause : causes(folder)) {
    found.all.push_back(std::move(cause));
  }
  if (const std::string heaptrack = find_program("heaptrack"); heaptrack.empty()) {
    found.skipped.emplace_back("heaptrack: not installed (scripts/install.sh --bench unpacks it)");
  } else {
    found.all.push_back({.name = "heaptrack",
                         .kind = VariantKind::kPeer,
                         .base = "plain",
                         .variables = {},
                         .wrapper = {heaptrack, "--raw", "-o", folder / "heaptrack"}});
  }
  return found;
}

}  // namespace plimsoll::bench
