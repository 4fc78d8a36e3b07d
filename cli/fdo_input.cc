#include "cli/fdo_input.h"

#include <optional>
#include <utility>

#include "base/hex.h"
#include "cli/symbol_tables.h"
#include "cli/views/commands.h"
#include "query/fdo/counts/count_binary.h"
#include "query/fdo/making/elf_checks.h"

namespace plimsoll::cli {
namespace {

constexpr uint64_t kMaxBinaryBytes = uint64_t{16} << 30;

struct OpenedElf {
  MappedFile map;
  elf::ElfFile elf;
};

Result<OpenedElf> open_elf(const std::string& path) {
  auto map = MappedFile::open(path, kMaxBinaryBytes);
  if (!map) {
    return propagate(map, "opening the binary");
  }
  auto elf = elf::ElfFile::parse(map->bytes());
  if (!elf) {
    return with_hint(propagate(elf, "reading {}", path),
                     "give the ELF file that ran, or the same build of it");
  }
  if (const auto whole = fdo::check_whole(map->bytes(), *elf, path); !whole) {
    return propagate(whole);
  }
  return OpenedElf{std::move(*map), std::move(*elf)};
}

Result<std::string> checked_build_id(const std::string& path, const elf::ElfFile& elf) {
  std::string build_id = to_hex(elf.build_id());
  if (build_id.empty()) {
    return with_hint(
        fail(ErrorCode::kInvalid, "{} has no build ID, by which its samples would be found", path),
        "link it with -Wl,--build-id=sha1, and run that build in the fleet");
  }
  return build_id;
}

// A debug file that is named by hand is not checked by the one who parses it.
Status check_debug_file(const FdoInput& input, const std::string& build_id) {
  if (input.debug.empty()) {
    return {};
  }
  const auto debug = open_elf(input.debug);
  if (!debug) {
    return propagate(debug);
  }
  const std::string of_debug = to_hex(debug->elf.build_id());
  return of_debug == build_id
             ? Status()
             : with_hint(fail(ErrorCode::kInvalid, "--debug {} has the build ID {}, and {} has {}",
                              input.debug, of_debug.empty() ? "(none)" : of_debug, input.binary, build_id),
                         "give the debug file of this very build");
}

Result<fdo::BinaryCounts> ask_counts(const FdoInput& input, const FdoBinary& binary, bool needs_calls) {
  TableOptions options;
  options.source = input.source;
  options.parameters = input.parameters;
  options.parameters.emplace_back("build_id", binary.build_id);
  if (needs_calls) {
    options.parameters.emplace_back("calls", "yes");
  }
  const auto table = ask_table("fdo-counts", options);
  if (!table) {
    return propagate(table, "looking for samples of {} (build ID {})", input.binary, binary.build_id);
  }
  auto counts = fdo::counts_from(*table);
  if (!counts) {
    return propagate(counts);
  }
  if (auto checked = fdo::check_build_id(*counts, binary.build_id); !checked) {
    return propagate(checked);
  }
  fdo::to_addresses(*counts, binary.elf);
  return counts;
}

Result<symbolizer::MadeTable> make_symbols(const FdoInput& input) {
  return make_table({.files = {.binary = input.binary, .debug = input.debug}});
}

Result<symbolizer::MappedTable> read_lines(const FdoInput& input) {
  auto made = make_symbols(input);
  if (!made) {
    return propagate(made);
  }
  std::optional<symbolizer::MappedTable>& mapped = made->mapped;
  if (!mapped || made->quality < symbolizer::SymtabQuality::kLines) {
    return with_hint(fail(ErrorCode::kInvalid, "{} has no line tables{}{}",
                          input.debug.empty() ? input.binary : input.debug, made->reasons.empty() ? "" : ": ",
                          made->reasons),
                     "compile with -gmlt -fdebug-info-for-profiling; of a stripped binary give the "
                     "unstripped file, or its "
                     "separate debug file with --debug FILE");
  }
  return std::move(*mapped);
}

Result<std::vector<fdo::FunctionExtent>> read_extents(const FdoInput& input, const FdoData& data) {
  if (fdo::has_symbols(data.binary.elf) || data.symbols) {
    return fdo::extents_of(data.binary.elf, data.table());
  }
  const auto made = make_symbols(input);
  if (!made) {
    return propagate(made);
  }
  const std::optional<symbolizer::MappedTable>& mapped = made->mapped;
  const bool has_functions = mapped && made->quality >= symbolizer::SymtabQuality::kSymtab;
  return fdo::extents_of(data.binary.elf, has_functions ? &mapped->table : nullptr);
}

}  // namespace

Result<std::string> build_id_of(const std::string& path) {
  const auto opened = open_elf(path);
  return opened ? checked_build_id(path, opened->elf) : propagate(opened);
}

Result<FdoBinary> open_fdo_binary(const FdoInput& input) {
  auto opened = open_elf(input.binary);
  if (!opened) {
    return propagate(opened);
  }
  const auto checked = checked_build_id(input.binary, opened->elf);
  if (!checked) {
    return propagate(checked);
  }
  const std::string& build_id = *checked;
  const std::string wanted = fdo::lower_hex(input.build_id);
  if (!build_id.starts_with(wanted)) {
    return with_hint(
        with_field(fail(ErrorCode::kInvalid, "{} has the build ID {}, and samples of {} are asked for",
                        input.binary, build_id, wanted),
                   "--build-id"),
        "give the binary that ran: addresses of one build mean nothing in another");
  }
  if (!fdo::has_code(opened->elf)) {
    return with_hint(fail(ErrorCode::kInvalid, "{} has no code: it is a separate debug file", input.binary),
                     "give the binary itself with --binary, and this file with --debug");
  }
  return FdoBinary{std::move(opened->map), std::move(opened->elf), build_id};
}

Result<FdoData> read_fdo_data(const FdoInput& input, const FdoNeeds& needs) {
  auto binary = open_fdo_binary(input);
  if (!binary) {
    return propagate(binary);
  }
  if (const auto checked = check_debug_file(input, binary->build_id); !checked) {
    return propagate(checked);
  }
  auto counts = ask_counts(input, *binary, needs.calls);
  if (!counts) {
    return propagate(counts);
  }
  FdoData data{
      .binary = std::move(*binary), .counts = std::move(*counts), .symbols = std::nullopt, .program = {}};
  if (needs.lines) {
    auto symbols = read_lines(input);
    if (!symbols) {
      return propagate(symbols);
    }
    data.symbols = std::move(*symbols);
  }
  auto extents = read_extents(input, data);
  if (!extents) {
    return propagate(extents);
  }
  auto program = fdo::read_program(data.binary.elf, input.binary, std::move(*extents), data.counts);
  if (!program) {
    return propagate(program);
  }
  data.program = std::move(*program);
  return data;
}

}  // namespace plimsoll::cli
