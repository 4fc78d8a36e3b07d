#include "cli/symbol_tables.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/time.h"

namespace plimsoll::cli {
namespace {

constexpr uint64_t kMaxSymtabBytes = uint64_t{8} << 30;
constexpr unsigned kMaxThreads = 8;

std::string absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).string();
}

std::function<void(uint64_t)> progress_of(const std::string& path) {
  if (::isatty(STDERR_FILENO) != 1) {
    return {};
  }
  return [path, started_ns = monotonic_now_ns()](uint64_t opened_bytes) {
    const int64_t seconds = (monotonic_now_ns() - started_ns) / kNsPerSecond;
    if (seconds > 0) {
      fmt::print(stderr, "\rbuilding the symbol table of {}, {} MiB: {} s ", path, opened_bytes >> 20U,
                 seconds);
      std::fflush(stderr);
    }
  };
}

}  // namespace

symbolizer::TableWorker table_worker() {
  return {.argv = {"/proc/self/exe", "symtab", "worker", "--zygote"}, .is_zygote = true};
}

symbolizer::TableWorker profile_worker() {
  return {.argv = {"/proc/self/exe", "fdo", "worker"}};
}

symbolizer::TableWorker annotate_worker() {
  return {.argv = {"/proc/self/exe", "symtab", "annotate"}};
}

Result<symbolizer::MadeTable> make_table(const TableSource& source) {
  const unsigned cpus = std::clamp(std::thread::hardware_concurrency(), 1U, kMaxThreads);
  const symbolizer::NamedFiles& files = source.files;
  const symbolizer::TableQuery query{.roots = {{"/"}, source.debug_folders},
                                     .named = {absolute(files.binary), absolute(files.debug),
                                               absolute(files.supplement), absolute(files.package)},
                                     .threads = source.threads == 0 ? cpus : source.threads,
                                     .reader = source.reader};
  std::error_code error;
  symbolizer::MakeOptions options{.folder = std::filesystem::temp_directory_path(error).string(),
                                  .progress = progress_of(files.binary)};
  if (error) {
    return fail_errno(error.value(), "looking for the folder of temporary files (TMPDIR)");
  }
  if (source.memory_mib != 0) {
    options.limits.memory_bytes = source.memory_mib << 20U;
  }
  auto made =
      symbolizer::TableProcess({{"/proc/self/exe", "symtab", "worker"}}).make_with_fallback(query, options);
  if (options.progress) {
    fmt::print(stderr, "\r\x1b[K");
  }
  return made;
}

Result<symbolizer::MappedTable> open_table(const std::string& path) {
  auto map = MappedFile::open(path, kMaxSymtabBytes);
  if (!map) {
    return propagate(map);
  }
  auto table = symbolizer::Symtab::open(map->bytes());
  if (!table) {
    return with_hint(propagate(table, "opening {}", path), "build one with plimsoll symtab build");
  }
  return symbolizer::MappedTable{std::move(*map), *table};
}

}  // namespace plimsoll::cli
