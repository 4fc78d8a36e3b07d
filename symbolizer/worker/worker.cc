#include "symbolizer/worker/worker.h"

#include <optional>

#include "symbolizer/names/demangle.h"

namespace plimsoll::symbolizer {
namespace {

constexpr std::string_view kUnboundSql =
    "SELECT binary.id, identity_kind, identity, path, content, location.id, kind, address "
    "FROM location JOIN binary ON binary.id = owner LEFT JOIN kernel_symbols ON kernel_symbols.binary = "
    "binary.id "
    "LEFT JOIN binding ON binding.location = location.id "
    "WHERE kind IN (?, ?, ?, ?) AND binding.location IS NULL ORDER BY binary.id, location.id";

Result<BinarySymbols> read_kernel_symbols(const UnboundBinary& binary) {
  wire::KernelImage image;
  if (binary.kernel_symbols.empty() || !image.ParseFromString(binary.kernel_symbols)) {
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

Result<BinarySymbols> symbols_for(const UnboundBinary& binary, const SymbolRoots& roots) {
  if (is_kernel(binary)) {
    return read_kernel_symbols(binary);
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
    // Names of the kernel are C, and come from a profile: nothing there is worth the demangler's risks.
    const bool is_c = location.kind == wire::KERNEL || location.kind == wire::MODULE;
    binding.frames.push_back({is_c ? symbol->name : display_name(symbol->name), "", 0});
  }
  return binding;
}

}  // namespace

Result<std::vector<UnboundBinary>> find_unbound(sqlite::Database& catalogue) {
  std::vector<UnboundBinary> binaries;
  auto row = catalogue.query(kUnboundSql, wire::ELF, wire::ELF_FILE_OFFSET, wire::KERNEL, wire::MODULE);
  if (!row) {
    return propagate(row, "looking for locations without names");
  }
  while (true) {
    const auto has_row = row->step();
    if (!has_row) {
      return propagate(has_row, "looking for locations without names");
    }
    if (!*has_row) {
      return binaries;
    }
    if (binaries.empty() || binaries.back().id != row->integer(0)) {
      binaries.push_back({row->integer(0),
                          static_cast<wire::IdentityKind>(row->integer(1)),
                          row->blob(2),
                          std::string(row->text(3)),
                          row->blob(4),
                          {}});
    }
    binaries.back().locations.push_back({static_cast<uint32_t>(row->integer(5)),
                                         static_cast<wire::LocationKind>(row->integer(6)),
                                         static_cast<uint64_t>(row->integer(7))});
  }
}

std::vector<LookedUpBinary> look_up(const std::vector<UnboundBinary>& unbound, const SymbolRoots& roots) {
  std::vector<LookedUpBinary> looked_up;
  for (const UnboundBinary& binary : unbound) {
    auto symbols = symbols_for(binary, roots);
    std::string missing_reason;
    if (!symbols) {
      missing_reason = symbols.error().text();
      symbols = BinarySymbols{};
    } else if (symbols->quality == store::SymbolQuality::kNone) {
      missing_reason = "it is stripped and exports no functions";
    }
    std::vector<store::Binding> bindings;
    for (const UnboundLocation& location : binary.locations) {
      bindings.push_back(bind(location, *symbols));
    }
    looked_up.push_back(
        {binary.id, binary.path, symbols->quality, std::move(missing_reason), std::move(bindings)});
  }
  return looked_up;
}

Status write_bindings(sqlite::Database& catalogue, const std::vector<LookedUpBinary>& looked_up) {
  store::BindingWriter writer(catalogue);
  for (const LookedUpBinary& binary : looked_up) {
    if (auto written = writer.bind(binary.bindings, 1); !written) {
      return propagate(written, "naming the locations of {}", binary.path);
    }
    const auto marked = catalogue.execute("UPDATE binary SET quality = ? WHERE id = ?",
                                          static_cast<int>(binary.quality), binary.id);
    if (!marked) {
      return marked;
    }
  }
  return {};
}

}  // namespace plimsoll::symbolizer
