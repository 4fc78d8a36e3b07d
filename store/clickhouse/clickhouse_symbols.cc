#include "store/clickhouse/clickhouse_symbols.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "store/clickhouse/entry_rows.h"
#include "store/clickhouse/epoch_names.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/schema.h"

namespace plimsoll::store::clickhouse {
namespace {

// That a file of symbols may name.
std::string named_kinds() {
  return fmt::format("kind IN ({}, {}, {}, {})", static_cast<int>(wire::ELF),
                     static_cast<int>(wire::ELF_FILE_OFFSET), static_cast<int>(wire::KERNEL),
                     static_cast<int>(wire::MODULE));
}

std::string kernel_kinds() {
  return fmt::format("kind IN ({}, {})", static_cast<int>(wire::KERNEL), static_cast<int>(wire::MODULE));
}

// What the tables say of the binaries of an epoch, beside their entries.
struct BinaryFacts {
  std::map<uint32_t, int64_t> unbound;  // locations that were never looked up
  std::set<uint32_t> of_kernels;
  std::map<uint32_t, BinaryAccount> accounts;
  std::map<uint32_t, int64_t> kernel_symbol_bytes;
  std::map<uint32_t, std::string> machines;
};

class EpochSymbols : public BlockSymbols {
 public:
  EpochSymbols(std::shared_ptr<ConnectionPool> connections, std::shared_ptr<WriterSession> session,
               std::shared_ptr<CommittedBatches> committed, std::function<int64_t()> now_ns, uint32_t epoch)
      : connections_(std::move(connections)),
        session_(std::move(session)),
        committed_(std::move(committed)),
        now_ns_(std::move(now_ns)),
        epoch_(epoch) {}

  int64_t number() const override { return epoch_; }

  Result<std::vector<PendingBinary>> find_pending(int64_t& bound_up_to) override {
    const auto epoch = newest();
    auto facts = epoch ? facts_of(*epoch, bound_up_to) : propagate(epoch);
    if (!facts) {
      return propagate(facts, "looking for addresses without symbols");
    }
    PendingBinaries binaries;
    const Status read =
        for_each(fmt::format("SELECT id, identity_kind, identity, path FROM binaries WHERE {} ORDER BY id",
                             epoch->condition()),
                 [&](ByteReader& reader) { binaries.add(read_binary(reader, *facts)); });
    if (!read) {
      return propagate(read, "looking for binaries without symbols");
    }
    bound_up_to = static_cast<int64_t>(epoch->newest.entries.locations) - 1;
    return binaries.take();
  }

  Status add_locations(bool all, PendingBinary& binary) override {
    const auto epoch = newest();
    if (!epoch) {
      return propagate(epoch);
    }
    const std::string is_bound =
        fmt::format("id IN (SELECT location FROM bindings WHERE {})", names_condition(*epoch));
    const Status read = for_each(
        fmt::format(
            "SELECT id, kind, address, {} FROM locations WHERE {} AND {} AND owner IN ({}){} ORDER BY "
            "owner, id",
            is_bound, epoch->condition(), named_kinds(), fmt::join(binary.ids, ", "),
            all ? "" : fmt::format(" AND NOT ({})", is_bound)),
        [&](ByteReader& reader) {
          PendingLocation location{};
          location.id = reader.read<uint32_t>();
          location.kind = static_cast<wire::LocationKind>(reader.read<uint8_t>());
          location.address = reader.read<uint64_t>();
          location.is_new = reader.read<uint8_t>() == 0;
          binary.locations.push_back(location);
        });
    return read ? read : propagate(read, "reading the locations of {}", binary.paths.front());
  }

  Result<std::string> kernel_image(const PendingBinary& binary) override {
    const auto epoch = newest();
    if (!epoch) {
      return propagate(epoch);
    }
    // Of what comes again, the first counts.
    std::string image;
    const Status read =
        for_each(fmt::format("SELECT content FROM kernel_symbols WHERE {} AND binary IN ({}) ORDER BY batch "
                             "LIMIT 1",
                             epoch->condition(), fmt::join(binary.ids, ", ")),
                 [&](ByteReader& reader) { image = read_text(reader); });
    return read ? Result<std::string>(std::move(image))
                : propagate(read, "reading the symbols of {}", binary.paths.front());
  }

  Status bind(std::span<const NamedBinary> binaries) override {
    const auto epoch = newest();
    const Status fits = epoch ? expect_locations(binaries, *epoch) : propagate(epoch);
    if (!fits) {
      return fits;
    }
    Connection connection = connections_->open();
    const OneHost one_host(connection);
    const BatchNumber number{epoch_, session_->next_names()};
    Status written = for_each_name_table(binaries, number, [&](const TableRows& table) {
      return connection.insert(table.table, table_called(table.table).columns(), table.rows);
    });
    written = written ? session_->expect_newest(connection, connection.options().database) : written;
    if (written) {
      RowBinaryWriter mark;
      mark.number(number.epoch).number(number.batch).number(now_ns_());
      written = connection.insert("name_batches", table_called("name_batches").columns(), mark.bytes());
    }
    return written ? written : propagate(written, "storing the symbols of {} binaries", binaries.size());
  }

  bool is_gone() const override {
    const auto epochs = committed_->newest(*connections_);
    return epochs && !(*epochs)->contains(epoch_);
  }
  bool is_unreadable() const override { return false; }

 private:
  Result<EpochBatches> newest() const {
    const auto epochs = committed_->newest(*connections_);
    if (!epochs) {
      return propagate(epochs);
    }
    const auto epoch = (*epochs)->find(epoch_);
    return epoch == (*epochs)->end() ? fail(ErrorCode::kNotFound, "epoch {} was dropped", epoch_)
                                     : Result<EpochBatches>(epoch->second);
  }

  static Status expect_locations(std::span<const NamedBinary> binaries, const EpochBatches& epoch) {
    for (const NamedBinary& binary : binaries) {
      for (const Binding& binding : binary.bindings) {
        if (binding.location >= epoch.newest.entries.locations) {
          return fail(ErrorCode::kInvalid, "{}: epoch {} has no location {}", binary.path, epoch.epoch,
                      binding.location);
        }
      }
    }
    return {};
  }

  // Calls `use` for each row of the answer.
  template <typename Use>
  Status for_each(const std::string& sql, Use use) {
    const auto answer = connections_->query(sql + " FORMAT RowBinary");
    return !answer ? propagate(answer) : for_each_row(*answer, "binaries", [&](ByteReader& reader) -> Status {
      use(reader);
      return {};
    });
  }

  Result<BinaryFacts> facts_of(const EpochBatches& epoch, int64_t bound_up_to) {
    BinaryFacts facts;
    const std::string of_epoch = epoch.condition();
    Status read = for_each(
        fmt::format("SELECT owner, count() FROM locations WHERE {} AND id > {} AND {} AND id NOT IN (SELECT "
                    "location FROM bindings WHERE {}) GROUP BY owner",
                    of_epoch, std::max<int64_t>(bound_up_to, 0), named_kinds(), names_condition(epoch)),
        [&](ByteReader& reader) {
          const auto binary = reader.read<uint32_t>();
          facts.unbound[binary] = static_cast<int64_t>(reader.read<uint64_t>());
        });
    read = read ? for_each(fmt::format("SELECT DISTINCT owner FROM locations WHERE {} AND {}", of_epoch,
                                       kernel_kinds()),
                           [&](ByteReader& reader) { facts.of_kernels.insert(reader.read<uint32_t>()); })
                : read;
    read = read ? for_each(fmt::format("SELECT binary, quality, generation, reasons, looked_at FROM "
                                       "binary_accounts WHERE {} ORDER BY binary, batch",
                                       names_condition(epoch)),
                           [&](ByteReader& reader) {
                             const auto binary = reader.read<uint32_t>();
                             read_account(reader, facts.accounts[binary]);
                           })
                : read;
    read = read ? for_each(fmt::format("SELECT binary, toInt64(length(content)) FROM kernel_symbols WHERE {} "
                                       "ORDER BY binary, batch DESC",
                                       of_epoch),
                           [&](ByteReader& reader) {
                             const auto binary = reader.read<uint32_t>();
                             facts.kernel_symbol_bytes[binary] = reader.read<int64_t>();
                           })
                : read;
    read = read ? for_each(fmt::format("SELECT binary, machine_id FROM binary_machines WHERE {} ORDER BY "
                                       "binary, batch DESC",
                                       of_epoch),
                           [&](ByteReader& reader) {
                             const auto binary = reader.read<uint32_t>();
                             facts.machines[binary] = read_text(reader);
                           })
                : read;
    return read ? Result<BinaryFacts>(std::move(facts)) : propagate(read);
  }

  static PendingBinary read_binary(ByteReader& reader, BinaryFacts& facts) {
    const auto id = reader.read<uint32_t>();
    const auto identity_kind = static_cast<wire::IdentityKind>(reader.read<uint8_t>());
    std::string identity(read_text(reader));
    std::string path(read_text(reader));
    BinaryAccount account = facts.accounts[id];
    return {.identity_kind = identity_kind,
            .identity = std::move(identity),
            .ids = {id},
            .paths = {std::move(path)},
            .quality = account.quality,
            .generation = account.generation,
            .looked_at = std::move(account.looked_at),
            .reasons = std::move(account.reasons),
            .machine = facts.machines[id],
            .new_locations = facts.unbound[id],
            .is_kernel = facts.of_kernels.contains(id),
            .kernel_symbol_bytes = facts.kernel_symbol_bytes[id]};
  }

  const std::shared_ptr<ConnectionPool> connections_;
  const std::shared_ptr<WriterSession> session_;
  const std::shared_ptr<CommittedBatches> committed_;
  const std::function<int64_t()> now_ns_;
  const uint32_t epoch_;
};

}  // namespace

Result<std::vector<std::unique_ptr<BlockSymbols>>> ClickHouseSymbols::blocks() {
  const auto epochs = committed_->newest(*connections_);
  if (!epochs) {
    return propagate(epochs);
  }
  std::vector<std::unique_ptr<BlockSymbols>> blocks;
  for (const auto& [number, epoch] : **epochs) {
    blocks.push_back(std::make_unique<EpochSymbols>(connections_, session_, committed_, now_ns_, number));
  }
  return blocks;
}

}  // namespace plimsoll::store::clickhouse
