#include "bench/appprof/variants.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

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
  const std::string library = sibling_program("libplimsoll_appprof.so");
  for (const std::string& needed : {std::string(kTcmalloc), library}) {
    if (!is_there(needed)) {
      return with_hint(fail(ErrorCode::kNotFound, "{} is missing", needed),
                       "scripts/install.sh --tests installs tcmalloc; build plimsoll_appprof");
    }
  }
  Variants found;
  found.all = {
      {.name = "plain", .base = "", .variables = {}, .wrapper = {}},
      {.name = "tcmalloc", .base = "", .variables = {fmt::format("LD_PRELOAD={}", kTcmalloc)}, .wrapper = {}},
      {.name = "appprof",
       .base = "tcmalloc",
       .variables = {fmt::format("LD_PRELOAD={}:{}", library, kTcmalloc),
                     "PLIMSOLL_APPPROF_LISTEN=unix:" + (folder / "appprof.sock")},
       .wrapper = {}},
      // The part of the cost that is the allocator's own.
      {.name = "tcmalloc-sampling",
       .base = "tcmalloc",
       .variables = {fmt::format("LD_PRELOAD={}", kTcmalloc), "TCMALLOC_SAMPLE_PARAMETER=524288"},
       .wrapper = {}},
      {.name = "HEAPPROFILE",
       .base = "tcmalloc",
       .variables = {fmt::format("LD_PRELOAD={}", kTcmalloc), "HEAPPROFILE=" + (folder / "heap")},
       .wrapper = {}}};
  if (const std::string heaptrack = find_program("heaptrack"); heaptrack.empty()) {
    found.skipped.emplace_back("heaptrack: not installed (scripts/install.sh --bench unpacks it)");
  } else {
    found.all.push_back({.name = "heaptrack",
                         .base = "plain",
                         .variables = {},
                         .wrapper = {heaptrack, "--raw", "-o", folder / "heaptrack"}});
  }
  return found;
}

}  // namespace plimsoll::bench
