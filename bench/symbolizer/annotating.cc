#include <elf.h>

#include <chrono>
#include <fstream>
#include <vector>

#include "base/file.h"
#include "base/hex.h"
#include "bench/harness/child.h"
#include "bench/harness/program.h"
#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "bench/symbolizer/measured_run.h"
#include "bench/symbolizer/parts.h"
#include "elf/elf_file.h"
#include "query/annotate/annotation_forms.h"
#include "query/annotate/process/annotate_process.h"
#include "query/annotate/source_files.h"

namespace plimsoll::bench {
namespace {

constexpr std::string_view kFunction = "long_function";
// Some six instructions each without optimization.
constexpr int kStatements = 1'800;
constexpr int kMinInstructions = 10'000;
constexpr uint64_t kMaxProgramBytes = uint64_t{64} << 20;
// Of two events.
constexpr uint64_t kBytesBetweenSamples = 5;

// A program of one function, each of whose lines has code.
Status compile_program(const ScratchFolder& folder) {
  {
    std::ofstream source(folder / "long.c");
    source << "unsigned " << kFunction << "(unsigned x, unsigned y) {\n";
    for (int i = 0; i < kStatements; ++i) {
      source << fmt::format("  x = x * {}u + (y ^ {}u);\n", 2 * i + 3, i);
    }
    source << "  return x;\n}\nint main(int argc, char** argv) { return " << kFunction
           << "(argc, argv != 0); }\n";
  }
  const auto compiled =
      run_measured({"gcc", "-O0", "-g", "-Wl,--build-id=sha1", folder / "long.c", "-o", folder / "long"});
  return compiled ? Status() : propagate(compiled, "compiling a program of one long function");
}

// As many as there are instructions, all over the function.
Result<std::vector<fdo::BinaryCounts>> counts_in(const std::string& program) {
  const auto image = MappedFile::open(program, kMaxProgramBytes);
  const auto file = image ? elf::ElfFile::parse(image->bytes()) : Result<elf::ElfFile>(propagate(image));
  if (!file) {
    return propagate(file);
  }
  std::vector<fdo::BinaryCounts> counts(2);
  counts[0].event = "cycles";
  counts[1].event = "cache-misses";
  file->for_each_symbol(SHT_SYMTAB, [&](const elf::Symbol& symbol) {
    for (uint64_t at = 0; symbol.name == kFunction && at < symbol.size_bytes; at += kBytesBetweenSamples) {
      for (fdo::BinaryCounts& event : counts) {
        event.addresses.push_back({.address = symbol.address + at, .value = 1000, .samples = 1});
        event.value += 1000;
        event.samples += 1;
      }
    }
  });
  for (fdo::BinaryCounts& event : counts) {
    event.build_id = to_hex(file->build_id());
    event.path = program;
    event.unit = "count";
  }
  return counts;
}

// From the order to the text that is shown, in milliseconds. Sets how many instructions it has.
Result<double> annotate_once(const annotate::AnnotateProcess& process, const annotate::AnnotateOrder& order,
                             const ScratchFolder& folder, size_t& instructions) {
  const auto start = std::chrono::steady_clock::now();
  auto annotation = process.make(order, {.limits = annotate::kAnnotateLimits, .folder = folder / "."});
  if (!annotation) {
    return propagate(annotation);
  }
  annotate::read_sources({.roots = {{.prefix = {}, .folder = folder / "."}}}, *annotation);
  const std::string text = annotate::to_text(*annotation, annotate::Order::kSource);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  instructions = annotation->functions.empty() ? 0 : annotation->functions.front().instructions.size();
  return text.find("x = x * 3u") == std::string::npos
             ? fail(ErrorCode::kCorrupt, "the annotated code has no source text")
             : Result<double>(took.count());
}

}  // namespace

Status measure_annotating(const Flags& flags, Report& report) {
  const auto folder = ScratchFolder::create();
  const Status compiled = folder ? compile_program(*folder) : propagate(folder);
  auto counts =
      compiled ? counts_in(*folder / "long") : Result<std::vector<fdo::BinaryCounts>>(propagate(compiled));
  if (!counts) {
    return propagate(counts);
  }
  const annotate::AnnotateOrder order{
      .function = std::string(kFunction),
      .counts = *std::move(counts),
      .files = {.roots = {.folders = {*folder / "."}}, .named = {.binary = *folder / "long"}}};
  const annotate::AnnotateProcess process({.argv = {sibling_program("plimsoll"), "symtab", "annotate"}});
  std::vector<double> took_ms;
  size_t instructions = 0;
  for (int round = 0; round < (flags.quick ? 3 : 20); ++round) {
    const auto took = annotate_once(process, order, *folder, instructions);
    if (!took) {
      return propagate(took);
    }
    took_ms.push_back(*took);
  }
  if (instructions < kMinInstructions) {
    return fail(ErrorCode::kCorrupt, "the function has {} instructions", instructions);
  }
  report.add(
      {.name = "annotate-ms",
       .value = median(took_ms),
       .unit = "ms",
       .goal = 300,
       .note = fmt::format("{} instructions, two events, with the process and the text", instructions)});
  return {};
}

}  // namespace plimsoll::bench
