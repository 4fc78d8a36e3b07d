#include "symbolizer/worker/worker.h"

#include <optional>

#include "symbolizer/names/demangle.h"

namespace plimsoll::symbolizer {
namespace {

struct UnboundLocation {
  uint32_t id;
  wire::LocationKind kind;
  uint64_t address;
};

struct UnboundBinary {
  int64_t id;
  wire::IdentityKind identity_kind;
  std::string identity;
  std::string path;
  std::vector<UnboundLocation> locations;
};

Result<std::vector<UnboundBinary>> unbound_binaries(sqlite::Database& catalogue) {
  std::vector<UnboundBinary> binaries;
  auto row = catalogue.query(
      "SELECT binary.id, identity_kind, identity, path, location.id, kind, address "
      "FROM location JOIN binary ON binary.id = owner LEFT JOIN binding ON binding.location = location.id "
      "WHERE kind IN (?, ?, ?, ?) AND binding.location IS NULL ORDER BY binary.id, location.id",
      wire::ELF, wire::ELF_FILE_OFFSET, wire::KERNEL, wire::MODULE);
  if (!row) {
    return propagate(row);
  }
  while (true) {
    const auto has_row = row->step();
    if (!has_row) {
      return propagate(has_row);
    }
    if (!*has_row) {
      return binaries;
    }
    if (binaries.empty() || binaries.back().id != row->integer(0)) {
      binaries.push_back({row->integer(0),
                          static_cast<wire::IdentityKind>(row->integer(1)),
                          row->blob(2),
                          std::string(row->text(3)),
                          {}});
    }
    binaries.back().locations.push_back({static_cast<uint32_t>(row->integer(4)),
                                         static_cast<wire::LocationKind>(row->integer(5)),
                                         static_cast<uint64_t>(row->integer(6))});
  }
}

// The symbols that a profile brought for a kernel or module; an empty table where none did.
Result<BinarySymbols> kernel_symbols(sqlite::Database& catalogue, int64_t binary) {
  auto row = catalogue.query("SELECT content FROM kernel_symbols WHERE binary = ?", binary);
  if (!row) {
    return propagate(row);
  }
  const auto has_row = row->step();
  if (!has_row) {
    return propagate(has_row);
  }
  wire::KernelImage image;
  if (!*has_row || !image.ParseFromString(row->blob(0))) {
    return fail(ErrorCode::kNotFound, "no profile brought its symbols");
  }
  std::vector<FunctionSymbol> symbols;
  uint64_t offset = 0;
  ByteReader names(as_bytes(image.names()));
  for (const uint64_t delta : image.offset_delta()) {
    offset += delta;
    symbols.push_back({offset, 0, std::string(names.c_string())});
  }
  BinarySymbols result;
  result.table = SymbolTable::from_offsets(std::move(symbols), UINT64_MAX);
  result.quality = store::SymbolQuality::kSymtab;
  return result;
}

bool is_kernel(const UnboundBinary& binary) {
  const wire::LocationKind kind = binary.locations.front().kind;
  return kind == wire::KERNEL || kind == wire::MODULE;
}

Result<BinarySymbols> symbols_for(sqlite::Database& catalogue, const UnboundBinary& binary,
                                  const SymbolRoots& roots) {
  if (is_kernel(binary)) {
    return kernel_symbols(catalogue, binary.id);
  }
  if (binary.path == "[vdso]") {
    return read_vdso_symbols(binary.identity);
  }
  return read_symbols(binary.path, binary.identity_kind, binary.identity, roots);
}

store::Binding bind(const UnboundLocation& location, const BinarySymbols& symbols) {
  std::optional<uint64_t> address = location.address;
  if (location.kind == wire::ELF_FILE_OFFSET) {
    address = elf::address_of(symbols.segments, location.address);
  }
  store::Binding binding{location.id, {}};
  const FunctionSymbol* const symbol = address ? symbols.table.find(*address) : nullptr;
  if (symbol != nullptr) {
    binding.frames.push_back({display_name(symbol->name), "", 0});
  }
  return binding;
}

}  // namespace

Result<BindReport> bind_pending(sqlite::Database& catalogue, const SymbolRoots& roots) {
  const auto binaries = unbound_binaries(catalogue);
  if (!binaries) {
    return propagate(binaries, "looking for locations without names");
  }
  BindReport report;
  store::BindingWriter writer(catalogue);
  for (const UnboundBinary& binary : *binaries) {
    auto symbols = symbols_for(catalogue, binary, roots);
    if (!symbols) {
      report.missing.push_back({binary.path, symbols.error().text()});
      symbols = BinarySymbols{};
    }
    std::vector<store::Binding> bindings;
    for (const UnboundLocation& location : binary.locations) {
      bindings.push_back(bind(location, *symbols));
      report.named += bindings.back().frames.empty() ? 0 : 1;
    }
    report.locations += bindings.size();
    if (auto written = writer.bind(bindings, 1); !written) {
      return propagate(written, "naming the locations of {}", binary.path);
    }
    if (auto marked = catalogue.execute("UPDATE binary SET quality = ? WHERE id = ?",
                                        static_cast<int>(symbols->quality), binary.id);
        !marked) {
      return propagate(marked);
    }
  }
  return report;
}

}  // namespace plimsoll::symbolizer
