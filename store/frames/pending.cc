#include "store/frames/pending.h"

#include <map>
#include <utility>

namespace plimsoll::store {
namespace {

constexpr std::string_view kBinariesSql =
    "SELECT id, identity_kind, identity, path, quality, generation, looked_at, coalesce(length(content), 0), "
    "EXISTS (SELECT 1 FROM location WHERE kind IN (?, ?) AND owner = binary.id), reasons, "
    "coalesce(machine_id, '') FROM binary LEFT JOIN kernel_symbols ON kernel_symbols.binary = binary.id "
    "LEFT JOIN binary_machine ON binary_machine.binary = binary.id ORDER BY id";

constexpr std::string_view kUnboundSql =
    "SELECT owner, count(*) FROM location LEFT JOIN binding ON binding.location = location.id "
    "WHERE location.id > ? AND kind IN (?, ?, ?, ?) AND binding.location IS NULL GROUP BY owner";

constexpr std::string_view kLocationsSql =
    "SELECT location.id, kind, address, binding.location IS NULL FROM location "
    "LEFT JOIN binding ON binding.location = location.id "
    "WHERE kind IN (?, ?, ?, ?) AND owner = ? AND (? OR binding.location IS NULL) ORDER BY location.id";

PendingBinary binary_of(const sqlite::Statement& row) {
  return {.identity_kind = static_cast<wire::IdentityKind>(row.integer(1)),
          .identity = row.blob(2),
          .ids = {row.integer(0)},
          .paths = {std::string(row.text(3))},
          .quality = static_cast<SymbolQuality>(row.integer(4)),
          .generation = row.integer(5),
          .looked_at = std::string(row.text(6)),
          .reasons = std::string(row.text(9)),
          .machine = std::string(row.text(10)),
          .new_locations = 0,
          .is_kernel = row.integer(8) != 0,
          .kernel_symbol_bytes = row.integer(7)};
}

}  // namespace

Result<std::vector<PendingBinary>> find_pending(sqlite::Database& catalogue, int64_t& bound_up_to) {
  const auto last = catalogue.integer("SELECT coalesce(max(id), 0) FROM location", 0);
  if (!last) {
    return propagate(last);
  }
  std::map<int64_t, int64_t> unbound;  // how many, by the binary's ID
  auto read = sqlite::for_each_row(
      catalogue.query(kUnboundSql, bound_up_to, wire::ELF, wire::ELF_FILE_OFFSET, wire::KERNEL, wire::MODULE),
      [&](const sqlite::Statement& row) { unbound[row.integer(0)] = row.integer(1); });
  if (!read) {
    return propagate(read, "looking for addresses without symbols");
  }
  PendingBinaries binaries;
  read = sqlite::for_each_row(catalogue.query(kBinariesSql, wire::KERNEL, wire::MODULE),
                              [&](const sqlite::Statement& row) {
                                PendingBinary binary = binary_of(row);
                                const auto found = unbound.find(row.integer(0));
                                binary.new_locations = found == unbound.end() ? 0 : found->second;
                                binaries.add(std::move(binary));
                              });
  if (!read) {
    return propagate(read, "looking for binaries without symbols");
  }
  bound_up_to = *last;
  return binaries.take();
}

Status add_locations(sqlite::Database& catalogue, bool all, PendingBinary& binary) {
  for (const int64_t id : binary.ids) {
    const auto read = sqlite::for_each_row(
        catalogue.query(kLocationsSql, wire::ELF, wire::ELF_FILE_OFFSET, wire::KERNEL, wire::MODULE, id, all),
        [&](const sqlite::Statement& row) {
          binary.locations.push_back({static_cast<uint32_t>(row.integer(0)),
                                      static_cast<wire::LocationKind>(row.integer(1)),
                                      static_cast<uint64_t>(row.integer(2)), row.integer(3) != 0});
        });
    if (!read) {
      return propagate(read, "reading the locations of {}", binary.paths.front());
    }
  }
  return {};
}

Result<std::string> kernel_image(sqlite::Database& catalogue, const PendingBinary& binary) {
  std::string image;
  for (const int64_t id : binary.ids) {
    const auto read =
        sqlite::for_each_row(catalogue.query("SELECT content FROM kernel_symbols WHERE binary = ?", id),
                             [&](const sqlite::Statement& row) { image = row.blob(0); });
    if (!read) {
      return propagate(read, "reading the symbols of {}", binary.paths.front());
    }
    if (!image.empty()) {
      break;
    }
  }
  return image;
}

}  // namespace plimsoll::store
