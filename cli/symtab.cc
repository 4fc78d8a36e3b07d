#include "cli/symtab.h"

#include <fmt/core.h>

#include <cstdio>
#include <optional>

#include "base/durable_file.h"
#include "base/hex.h"
#include "base/printable.h"
#include "cli/frames_json.h"
#include "cli/json_text.h"
#include "store/model/bindings.h"

namespace plimsoll::cli {
namespace {

using symbolizer::Blob;
using symbolizer::Column;
using symbolizer::Symtab;
using symbolizer::SymtabFrame;
using symbolizer::SymtabHeader;

constexpr size_t kFlushBytes = size_t{256} << 10;

std::string_view quality_of(const Symtab& table) {
  return store::name_of(static_cast<store::SymbolQuality>(table.quality()));
}

std::string_view identity_kind_of(const Symtab& table) {
  return table.header().identity_kind == wire::GNU_BUILD_ID ? "build ID" : "content hash";
}

uint64_t rows_of(const SymtabHeader& header, Column column) {
  return header.columns[static_cast<size_t>(column)].rows;
}

// What the header counts, by name.
struct Count {
  std::string_view name;
  uint64_t number;
};

std::vector<Count> counts_of(const SymtabHeader& header) {
  return {{"version", header.version},
          {"bytes", header.file_bytes},
          {"rows", header.rows},
          {"scopes", rows_of(header, Column::kScopeParent)},
          {"functions", rows_of(header, Column::kFunctionName)},
          {"locations", rows_of(header, Column::kLocationPath)},
          {"units", rows_of(header, Column::kUnitProducer)},
          {"string_bytes", header.blobs[static_cast<size_t>(Blob::kStrings)].bytes}};
}

// Of the units that libdw has read, why; without those of which there are none.
std::vector<Count> libdw_counts_of(const Symtab& table) {
  const symbolizer::SymtabReaders readers = table.readers();
  std::vector<Count> counts{{"libdw_units_damaged", readers.damaged},
                            {"libdw_units_relocatable", readers.relocatable},
                            {"libdw_units_asked", readers.asked}};
  std::erase_if(counts, [](const Count& count) { return count.number == 0; });
  return counts;
}

void append_header(const Symtab& table, std::string& out) {
  out += fmt::format("{}: {}\nquality: {}\n", identity_kind_of(table), to_hex(table.identity()),
                     quality_of(table));
  for (const Count& count : counts_of(table.header())) {
    out += fmt::format("{}: {}\n", count.name, count.number);
  }
  for (const Count& count : libdw_counts_of(table)) {
    out += fmt::format("{}: {}\n", count.name, count.number);
  }
  out += fmt::format("code: {:#x} to {:#x}\n", table.header().base_address, table.header().end_address);
}

void append_header_json(const Symtab& table, std::string& out) {
  out += fmt::format(
      R"({{"identity": "{}", "identity_kind": "{}", "quality": "{}", "from": "{:#x}", "to": "{:#x}")",
      to_hex(table.identity()), identity_kind_of(table), quality_of(table), table.header().base_address,
      table.header().end_address);
  for (const Count& count : counts_of(table.header())) {
    out += fmt::format(R"(, "{}": {})", count.name, count.number);
  }
  for (const Count& count : libdw_counts_of(table)) {
    out += fmt::format(R"(, "{}": {})", count.name, count.number);
  }
  out += "}\n";
}

// "0x1136 inner a.h:3:5 < outer a.c:10": a line for each row.
void append_row(uint64_t address, const std::vector<SymtabFrame>& frames, std::string& out) {
  out += fmt::format("{:#x}", address);
  for (const SymtabFrame& frame : frames) {
    const bool is_first = &frame == &frames.front();
    out += fmt::format("{} {} {}:{}", is_first ? "" : " <",
                       frame.function.empty() ? "?" : printable(frame.function),
                       frame.file.empty() ? "?" : printable(frame.file), frame.line);
    out += frame.column == 0 ? "" : fmt::format(":{}", frame.column);
    out += frame.discriminator == 0 ? "" : fmt::format(" (discriminator {})", frame.discriminator);
  }
  out += frames.empty() ? " -\n" : "\n";
}

Status print(std::string& out) {
  const bool written = std::fwrite(out.data(), 1, out.size(), stdout) == out.size();
  out.clear();
  return written ? Status() : fail_errno(errno, "writing to standard output");
}

// Calls `append(address, out)` for each row, and prints what comes of it.
template <typename Append>
Status print_rows(const Symtab& table, std::string& out, const Append& append) {
  Status printed;
  table.for_each_row([&](uint64_t address) {
    append(address, out);
    if (printed && out.size() > kFlushBytes) {
      printed = print(out);
    }
  });
  return printed ? print(out) : printed;
}

}  // namespace

Status run_symtab_build(const SymtabBuildOptions& options) {
  const auto made = make_table(options.source);
  if (!made) {
    return propagate(made);
  }
  if (!made->reasons.empty()) {
    fmt::print(stderr, "note: {}\n", printable(made->reasons));
  }
  const std::optional<symbolizer::MappedTable>& mapped = made->mapped;
  if (!mapped) {
    return with_hint(fail(ErrorCode::kNotFound, "{} has no symbols", options.source.files.binary),
                     "give its debug file with --debug");
  }
  if (auto written = write_file_durably(options.output, mapped->map.bytes()); !written) {
    return written;
  }
  const Symtab& table = mapped->table;
  fmt::print("{}: {} {}, {}, {} rows, {} functions, {} bytes; built in {} MiB of memory\n", options.output,
             identity_kind_of(table), to_hex(table.identity()), quality_of(table), table.header().rows,
             rows_of(table.header(), Column::kFunctionName), table.header().file_bytes,
             made->peak_memory_bytes >> 20U);
  for (const Count& count : libdw_counts_of(table)) {
    fmt::print("{}: {}\n", count.name, count.number);
  }
  return {};
}

Status run_symtab_dump(const SymtabDumpOptions& options) {
  const auto mapped = open_table(options.table);
  if (!mapped) {
    return propagate(mapped);
  }
  const Symtab& table = mapped->table;
  std::string out;
  if (options.as_json) {
    append_header_json(table, out);
    FramesJson frames(&table, NameForm::kRaw);
    return print_rows(table, out, [&](uint64_t address, std::string& text) {
      frames.append(address, text);
      text += '\n';
    });
  }
  append_header(table, out);
  std::vector<SymtabFrame> frames;
  return print_rows(table, out, [&](uint64_t address, std::string& text) {
    frames.clear();
    table.look_up(address, frames);
    append_row(address, frames, text);
  });
}

Status run_symtab_verify(const std::string& path) {
  const auto mapped = open_table(path);
  if (!mapped) {
    return propagate(mapped);
  }
  if (auto verified = mapped->table.verify(); !verified) {
    return with_hint(propagate(verified, "checking {}", path), "build it again with plimsoll symtab build");
  }
  fmt::print("{}: intact: {} {}, {}, {} rows\n", path, identity_kind_of(mapped->table),
             to_hex(mapped->table.identity()), quality_of(mapped->table), mapped->table.header().rows);
  return {};
}

}  // namespace plimsoll::cli
