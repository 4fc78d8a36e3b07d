#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/file.h"
#include "bench/daemon/parts.h"
#include "bench/harness/child.h"
#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "capture/unwind/unwind_table.h"
#include "elf/elf_file.h"
#include "elf/loaded_image.h"

namespace plimsoll::bench {
namespace {

struct Binary {
  std::string name;
  std::string path;
};

// The file that this process has mapped as libc.
std::string path_of_libc() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/libc.so") != std::string::npos) {
      return line.substr(line.find('/'));
    }
  }
  return {};
}

std::string path_of_compiler(const ScratchFolder& folder) {
  const std::string output = folder / "path";
  std::string path;
  if (run_to_end({"/usr/bin/g++", "-print-prog-name=cc1plus"}, output)) {
    std::ifstream lines(output);
    std::getline(lines, path);
  }
  return path;
}

// The largest library of that name beside libc; empty where there is none.
std::string largest_library(const std::string& libc, std::string_view prefix) {
  std::error_code error;
  const auto folder = std::filesystem::canonical(std::filesystem::path(libc).parent_path(), error);
  std::string largest;
  uint64_t largest_bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const bool is_wanted = entry.path().filename().string().starts_with(prefix);
    if (const uint64_t bytes = is_wanted ? entry.file_size(error) : 0; !error && bytes > largest_bytes) {
      largest_bytes = bytes;
      largest = entry.path().string();
    }
  }
  return largest;
}

Result<std::vector<elf::CallFrames>> call_frames_of(const std::string& path) {
  auto fd = std::make_shared<UniqueFd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd->valid()) {
    return fail_errno(errno, "opening {}", path);
  }
  const auto image = elf::LoadedImage::from_file(elf::read_at_of(std::move(fd), path));
  return image ? image->call_frames() : propagate(image);
}

// Of the sections that a program itself unwinds by.
Result<size_t> bytes_in_file(const std::string& path) {
  const auto file = MappedFile::open(path, kMaxFileBytes);
  const auto parsed = file ? elf::ElfFile::parse(file->bytes()) : propagate(file);
  if (!parsed) {
    return propagate(parsed);
  }
  return parsed->section_bytes(".eh_frame").size() + parsed->section_bytes(".eh_frame_hdr").size();
}

Status measure_table(const Binary& binary, int rounds, Report& report) {
  const auto sections = call_frames_of(binary.path);
  const auto in_file = sections ? bytes_in_file(binary.path) : propagate(sections);
  const auto table = in_file ? unwind::UnwindTable::compile(*sections) : propagate(in_file);
  if (!table || table->functions() == 0) {
    return table ? fail(ErrorCode::kNotFound, "{} has no functions", binary.path) : propagate(table);
  }
  const auto functions = static_cast<double>(table->functions());
  const std::array<std::function<double()>, 1> contenders{[&] {
    const int64_t start_ns = thread_cpu_ns();
    keep(unwind::UnwindTable::compile(*sections)->rows());
    return static_cast<double>(thread_cpu_ns() - start_ns);
  }};
  const double compile_ns = interleaved_medians(rounds, contenders)[0];
  report.add({.name = "table-bytes-per-fde-" + binary.name,
              .value = static_cast<double>(table->memory_bytes()) / functions,
              .unit = "bytes",
              .peer = ".eh_frame and .eh_frame_hdr",
              .peer_value = static_cast<double>(*in_file) / functions,
              .note = fmt::format("{} FDEs, {} rows, {} rules; {:.1f} MiB", table->functions(), table->rows(),
                                  table->rules(), static_cast<double>(table->memory_bytes()) / (1 << 20))});
  report.add(
      {.name = "table-compile-" + binary.name + "-ms",
       .value = compile_ns / 1e6,
       .unit = "ms",
       .note = fmt::format("{:.0f} ns of CPU time for an FDE, reading included", compile_ns / functions)});
  return {};
}

}  // namespace

Status measure_tables(const Flags& flags, Report& report) {
  const auto folder = ScratchFolder::create();
  if (!folder) {
    return propagate(folder);
  }
  const std::string libc = path_of_libc();
  for (const Binary& binary : {Binary{"libc", libc}, Binary{"cc1plus", path_of_compiler(*folder)},
                               Binary{"libllvm", largest_library(libc, "libLLVM")}}) {
    if (binary.path.empty()) {
      return fail(ErrorCode::kNotFound, "there is no {} here", binary.name);
    }
    if (auto measured = measure_table(binary, flags.quick ? 3 : 9, report); !measured) {
      return propagate(measured, "compiling the table of {}", binary.path);
    }
  }
  return {};
}

}  // namespace plimsoll::bench
