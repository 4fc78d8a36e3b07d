#include "symbolizer/lease/table_exchange.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/hex.h"
#include "base/random.h"
#include "elf/build_id.h"
#include "symbolizer/symtab/symtab.h"
#include "symbolizer/worker/table_folder.h"

namespace plimsoll::symbolizer {
namespace {

constexpr size_t kLeasePrefixBytes = 8;

bool exists(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0;
}

std::vector<LeasedFile> files_of(const BinaryRecord& record) {
  std::vector<LeasedFile> files;
  for (const KeptFile& file : record.files) {
    // No table needs sources, and workers refuse what is neither executable nor debug file.
    if (file.kind != BinaryKind::kSources) {
      files.push_back({.kind = file.kind, .size_bytes = file.size_bytes, .content_hash = file.content_hash});
    }
  }
  return files;
}

}  // namespace

TableExchange::TableExchange(const BinaryRepository& repository, ExchangeSettings settings)
    : repository_(repository),
      settings_(std::move(settings)),
      book_(settings_.limits, to_hex(random_bytes(kLeasePrefixBytes))) {}

bool TableExchange::has_workers() const {
  const std::lock_guard lock(mutex_);
  return book_.has_workers(settings_.monotonic_ns());
}

bool TableExchange::has_full_table(std::string_view build_id) const {
  const auto map = MappedFile::open(table_path(repository_.data_dir(), build_id), UINT64_MAX);
  const auto table = map ? Symtab::open(map->bytes()) : Result<Symtab>(propagate(map));
  return table && table->quality() == SymtabQuality::kFull;
}

// The server's search would find the executable there, and with it the addresses of its code.
bool TableExchange::lies_elsewhere(const WantedBinary& wanted) const {
  const auto copies = elf::places_of_copies(settings_.roots.folders, settings_.roots.debug_folders,
                                            {wanted.paths.begin(), wanted.paths.end()}, wanted.identity);
  return std::ranges::any_of(wanted.paths, exists) || std::ranges::any_of(copies, exists);
}

bool TableExchange::may_offer(const WantedBinary& wanted) {
  if (wanted.identity_kind != wire::GNU_BUILD_ID) {
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    if (book_.repeat_offer(wanted.identity, settings_.monotonic_ns())) {
      return false;
    }
  }
  const auto record = repository_.find(wanted.identity);
  if (!record || record->quality() != store::SymbolQuality::kFull) {
    return false;
  }
  const bool has_code = record->file(BinaryKind::kExecutable) != nullptr || !lies_elsewhere(wanted);
  return has_code && !has_full_table(wanted.identity);
}

void TableExchange::offer(const WantedBinary& wanted) {
  const auto record = repository_.find(wanted.identity);
  if (record) {
    const std::lock_guard lock(mutex_);
    std::ignore = book_.offer(wanted.identity, files_of(*record), settings_.monotonic_ns());
  }
}

bool TableExchange::has(std::string_view identity) const {
  const std::lock_guard lock(mutex_);
  return delivered_.contains(identity);
}

bool TableExchange::begin_here(std::string_view identity) {
  const std::lock_guard lock(mutex_);
  return book_.begin_here(identity, settings_.monotonic_ns());
}

std::optional<MappedTable> TableExchange::take(std::string_view identity) {
  const std::lock_guard lock(mutex_);
  const auto found = delivered_.find(identity);
  if (found == delivered_.end()) {
    return std::nullopt;
  }
  std::optional<MappedTable> table(std::move(found->second));
  delivered_.erase(found);
  delivered_bytes_ -= table->map.bytes().size();
  return table;
}

void TableExchange::end_here(std::string_view identity) {
  std::ignore = take(identity);
  const std::lock_guard lock(mutex_);
  book_.end_here(identity);
}

Result<std::vector<Lease>> TableExchange::lease(std::string_view worker, size_t max_builds) {
  const std::lock_guard lock(mutex_);
  auto leases = book_.lease(worker, max_builds, settings_.monotonic_ns());
  drop_old_tables();
  return leases;
}

bool TableExchange::renew(const LeaseClaim& claim) {
  const std::lock_guard lock(mutex_);
  return book_.renew(claim, settings_.monotonic_ns());
}

LeaseAnswer TableExchange::check(const LeaseClaim& claim) {
  const std::lock_guard lock(mutex_);
  return book_.check(claim, settings_.monotonic_ns());
}

LeaseAnswer TableExchange::fail_lease(const LeaseClaim& claim, std::string_view reason, bool is_final) {
  const std::lock_guard lock(mutex_);
  return book_.fail_lease(claim, reason, is_final, settings_.monotonic_ns());
}

LeaseAnswer TableExchange::give_back(const LeaseClaim& claim) {
  const std::lock_guard lock(mutex_);
  return book_.give_back(claim, settings_.monotonic_ns());
}

void TableExchange::drop_old_tables() {
  for (auto table = delivered_.begin(); table != delivered_.end();) {
    const bool is_wanted = book_.is_delivered(table->first) || book_.is_here(table->first);
    delivered_bytes_ -= is_wanted ? 0 : table->second.map.bytes().size();
    table = is_wanted ? std::next(table) : delivered_.erase(table);
  }
}

Status TableExchange::expect_room() const {
  const std::lock_guard lock(mutex_);
  return delivered_.size() < settings_.max_delivered && delivered_bytes_ < settings_.max_delivered_bytes
             ? Status()
             : fail(ErrorCode::kUnavailable, "{} tables wait for the server, the limit", delivered_.size());
}

Result<MappedTable> TableExchange::checked_table(const LeaseClaim& claim, const UniqueFd& file) const {
  auto map = MappedFile::map(file, "the symbol table", settings_.max_table_bytes);
  if (!map) {
    return propagate(map);
  }
  const auto table = Symtab::open(map->bytes());
  if (!table) {
    return fail(ErrorCode::kCorrupt, "{}", table.error().message);
  }
  if (const Status verified = table->verify(); !verified) {
    return propagate(verified);
  }
  const bool is_its = table->identity() == claim.build_id &&
                      table->header().identity_kind == static_cast<uint32_t>(wire::GNU_BUILD_ID);
  if (!is_its) {
    return fail(ErrorCode::kCorrupt, "the symbol table belongs to another binary");
  }
  if (table->quality() != SymtabQuality::kFull) {
    return fail(ErrorCode::kCorrupt, "the symbol table is not of full DWARF");
  }
  return MappedTable{std::move(*map), *table};
}

Result<LeaseAnswer> TableExchange::deliver(const LeaseClaim& claim, const UniqueFd& file) {
  // Reads all of it: not with the lock.
  auto table = checked_table(claim, file);
  if (!table) {
    const std::lock_guard lock(mutex_);
    std::ignore = book_.refuse_table(claim, table.error().message, settings_.monotonic_ns());
    return propagate(table);
  }
  const LeaseAnswer answer = keep(claim, std::move(*table));
  if (answer == LeaseAnswer::kWanted && settings_.delivered) {
    settings_.delivered();
  }
  return answer;
}

LeaseAnswer TableExchange::keep(const LeaseClaim& claim, MappedTable table) {
  const std::lock_guard lock(mutex_);
  const LeaseAnswer answer = book_.deliver(claim, settings_.monotonic_ns());
  if (answer == LeaseAnswer::kWanted) {
    delivered_bytes_ += table.map.bytes().size();
    delivered_.insert_or_assign(std::string(claim.build_id), std::move(table));
  }
  return answer;
}

std::vector<WorkerAccount> TableExchange::workers() {
  const std::lock_guard lock(mutex_);
  return book_.workers(settings_.monotonic_ns());
}

}  // namespace plimsoll::symbolizer
