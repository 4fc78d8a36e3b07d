#include "store/clickhouse/clickhouse_store.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/file.h"
#include "base/file_modes.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/time.h"
#include "store/clickhouse/clickhouse_source.h"
#include "store/clickhouse/clickhouse_symbols.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/schema.h"

namespace plimsoll::store::clickhouse {
namespace {

constexpr uint64_t kMaxPasswordFileBytes = 4096;
// Of an answer, which has a limit: of 33 bytes each.
constexpr size_t kKnownProfilesPerStatement = 250'000;

Result<std::string> read_password(const std::string& path) {
  auto text = read_file(path, kMaxPasswordFileBytes);
  if (!text) {
    return propagate(text, "reading the password of the store");
  }
  warn_if_others_may_read(path, "the password of the store");
  text->resize(std::min(text->size(), text->find_first_of("\r\n")));
  return text;
}

// Of a partition, in all tables.
Result<std::map<uint32_t, uint64_t>> bytes_by_epoch(Queryable& server, std::string_view database) {
  const auto answer = server.query(fmt::format(
      "SELECT toUInt32OrZero(partition), toUInt64(sum(bytes_on_disk)) FROM system.parts WHERE active AND "
      "database = '{}' GROUP BY partition FORMAT RowBinary",
      database));
  if (!answer) {
    return propagate(answer);
  }
  std::map<uint32_t, uint64_t> bytes;
  const Status read = for_each_row(*answer, "system.parts", [&](ByteReader& reader) -> Status {
    const auto epoch = reader.read<uint32_t>();
    bytes[epoch] += reader.read<uint64_t>();
    return {};
  });
  // Tables that are not by epoch.
  bytes.erase(0);
  return read ? Result<std::map<uint32_t, uint64_t>>(std::move(bytes)) : propagate(read);
}

// Of an epoch, those with numbers from `first` on: as many as one statement asks for.
Result<std::vector<KnownProfile>> known_profiles(Queryable& server, const EpochBatches& epoch, int64_t first,
                                                 int64_t last) {
  const auto answer = server.query(fmt::format(
      "SELECT profile_id, archive_sequence, to_ns FROM origins WHERE {} AND archive_sequence "
      "BETWEEN {} AND {} AND is_rolled_up = 0 ORDER BY archive_sequence LIMIT {} FORMAT RowBinary",
      epoch.condition(), first, last, kKnownProfilesPerStatement));
  if (!answer) {
    return propagate(answer);
  }
  std::vector<KnownProfile> profiles;
  const Status read = for_each_row(*answer, "the profiles of origins", [&](ByteReader& reader) -> Status {
    KnownProfile& profile = profiles.emplace_back();
    profile.id = read_text(reader);
    profile.sequence = reader.read<int64_t>();
    profile.to_ns = reader.read<int64_t>();
    const int64_t min = profiles.size() == 1 ? first : profiles[profiles.size() - 2].sequence + 1;
    return !reader.ok() || (profile.sequence >= min && profile.sequence <= last)
               ? Status()
               : fail(ErrorCode::kCorrupt,
                      "epoch {} has the profile number {} twice, or where it was not asked for", epoch.epoch,
                      profile.sequence);
  });
  return read ? Result<std::vector<KnownProfile>>(std::move(profiles)) : propagate(read);
}

// Of one of its databases.
Result<ConnectionOptions> options_for(const std::string& address, const RowsAddress& rows) {
  auto options = parse_address(address);
  if (!options) {
    return options;
  }
  options->ca = rows.ca;
  options->insert_quorum = rows.insert_quorum;
  if (!options->further_urls.empty() && !rows.is_replicated()) {
    return with_hint(
        fail(ErrorCode::kInvalid,
             "the store's address {} names several hosts, and its tables are not replicated: each "
             "host would have rows of its own",
             address),
        "set store.replicated = true, or name one host");
  }
  if (!rows.password_file.empty()) {
    auto password = read_password(rows.password_file);
    if (!password) {
      return propagate(password);
    }
    options->password = std::move(*password);
    // A password without a user is that of ClickHouse's own.
    options->user = options->user.empty() ? "default" : options->user;
  }
  return options;
}

bool have_a_host_in_common(const ConnectionOptions& one, const ConnectionOptions& other) {
  const std::vector<ConnectionOptions> hosts = each_host(other);
  return std::ranges::any_of(each_host(one), [&](const ConnectionOptions& host) {
    return std::ranges::find(hosts, host.base_url, &ConnectionOptions::base_url) != hosts.end();
  });
}

// As if it were the main database.
RowsAddress address_of_shard(const RowsAddress& rows, size_t place) {
  return {.address = rows.shards[place], .insert_quorum = rows.insert_quorum};
}

}  // namespace

Result<ConnectionOptions> connection_to(const RowsAddress& rows) {
  return options_for(rows.address, rows);
}

Result<std::vector<ConnectionOptions>> shards_of(const RowsAddress& rows) {
  std::vector<ConnectionOptions> further;
  if (rows.shards.empty()) {
    return further;
  }
  const auto main = parse_address(rows.address);
  if (!main) {
    return propagate(main);
  }
  std::vector<ConnectionOptions> known{*main};
  for (const std::string& address : rows.shards) {
    auto options = options_for(address, rows);
    if (!options) {
      return with_field(propagate(options), "store.shards");
    }
    const bool is_known = std::ranges::any_of(known, [&](const ConnectionOptions& other) {
      return other.database == options->database && have_a_host_in_common(other, *options);
    });
    if (is_known) {
      return with_hint(
          with_field(fail(ErrorCode::kConflict, "the database of the shard {} is listed twice", address),
                     "store.shards"),
          "give each shard a database of its own, other than that of store.address");
    }
    options->shard = known.size();
    known.push_back(*options);
    further.push_back(std::move(*options));
  }
  return further;
}

bool are_same_replicas(const RowsAddress& one, const RowsAddress& other) {
  const auto first = parse_address(one.address);
  const auto second = parse_address(other.address);
  if (!first || !second || !one.is_replicated() || !other.is_replicated() ||
      first->database != second->database) {
    return false;
  }
  return have_a_host_in_common(*first, *second);
}

Status expect_same_shards(const RowsAddress& known, const RowsAddress& given) {
  for (size_t place = 0; place < known.shards.size(); ++place) {
    const bool is_kept = place < given.shards.size() &&
                         (given.shards[place] == known.shards[place] ||
                          are_same_replicas(address_of_shard(known, place), address_of_shard(given, place)));
    if (!is_kept) {
      return with_hint(
          with_field(fail(ErrorCode::kConflict, "shard {} of the rows is {}, and store.shards has {} there",
                          place + 1, known.shards[place],
                          place < given.shards.size() ? given.shards[place] : std::string("none")),
                     "store.shards"),
          "list all shards in the order in which they were added, new ones last; to have fewer, copy the "
          "rows to a new database with \"plimsoll store copy\"");
    }
  }
  return {};
}

// Two processes that start at the same moment may both find no owner: begin_session() gives them different sessions, and the older one stops.
Status settle_owner(Connection& connection, std::string_view directory_id) {
  const auto owner = noted_owner(connection);
  if (!owner) {
    return propagate(owner);
  }
  const std::string id = to_hex(directory_id);
  if (owner->empty()) {
    return connection.insert("directories", table_called("directories").columns(),
                             RowBinaryWriter().text(id).bytes());
  }
  return *owner == id
             ? Status()
             : with_hint(fail(ErrorCode::kConflict,
                              "the database {} has the rows of the data directory with the ID {}, not "
                              "of that with {}",
                              connection.options().database, *owner, id),
                         "give each data directory a database of its own");
}

Status expect_owner(const RowsAddress& rows, std::string_view directory_id) {
  const auto options = connection_to(rows);
  if (!options) {
    return propagate(options);
  }
  Connection connection(*options);
  const auto owner = noted_owner(connection);
  if (!owner) {
    return propagate(owner, "asking {} whose rows it has", rows.address);
  }
  const auto further = shards_of(rows);
  if (!further) {
    return propagate(further);
  }
  return *owner == to_hex(directory_id)
             ? expect_shards(connection, *further, directory_id)
             : with_hint(fail(ErrorCode::kConflict,
                              "the database {} has no rows of the data directory with the ID {}",
                              options->database, to_hex(directory_id)),
                         "check store.address: it must name the database of the primary server");
}

Result<std::unique_ptr<ClickHouseStore>> ClickHouseStore::open(const RowsAddress& rows,
                                                               std::string_view directory_id,
                                                               const EpochLimits& limits,
                                                               std::function<int64_t()> now_ns) {
  const auto options = connection_to(rows);
  const auto further = options ? shards_of(rows) : propagate(options);
  if (!further) {
    return propagate(further);
  }
  Connection connection(*options);
  const Status prepared = prepare_tables(connection);
  Status settled = prepared ? settle_owner(connection, directory_id) : prepared;
  settled = settled ? settle_shards(connection, *further, directory_id) : settled;
  auto sink = settled ? ClickHouseSink::open(*options, limits, now_ns, *further) : propagate(settled);
  if (!sink) {
    return propagate(sink, "opening the store {}", rows.address);
  }
  return std::unique_ptr<ClickHouseStore>(
      new ClickHouseStore(rows.address, std::make_shared<ConnectionPool>(*options), pools_of(*further),
                          std::move(*sink), std::move(now_ns)));
}

std::unique_ptr<Symbols> ClickHouseStore::symbols() {
  return std::make_unique<ClickHouseSymbols>(connections_, sink_->session(), now_ns_);
}

Status ClickHouseStore::for_each_profile(int64_t first, int64_t last, const UseProfiles& use) {
  const auto committed = committed_.newest(*connections_);
  if (!committed) {
    return propagate(committed, "reading the profiles of the store {}", address_);
  }
  for (const auto& [number, epoch] : **committed) {
    // The numbers of epochs ascend as those of profiles do.
    bool has_more = epoch.newest.last_sequence >= first;
    while (has_more) {
      const auto profiles = known_profiles(*connections_, epoch, first, last);
      const Status used = !profiles ? propagate(profiles, "reading the profiles of the store {}", address_)
                          : profiles->empty() ? Status()
                                              : use(*profiles);
      if (!used) {
        return used;
      }
      has_more = profiles->size() == kKnownProfilesPerStatement;
      first = profiles->empty() ? first : profiles->back().sequence + 1;
    }
  }
  return {};
}

// Of all databases: an epoch whose marks are gone may have rows on a shard that did not answer when it was dropped.
Result<std::map<uint32_t, uint64_t>> ClickHouseStore::bytes_of_epochs() const {
  auto bytes = bytes_by_epoch(*connections_, connections_->options().database);
  for (const auto& shard : further_) {
    if (!bytes) {
      return bytes;
    }
    const auto there = bytes_by_epoch(*shard, shard->options().database);
    if (!there) {
      return propagate(there, "{}", shard_name(shard->options()));
    }
    for (const auto& [epoch, of_epoch] : *there) {
      (*bytes)[epoch] += of_epoch;
    }
  }
  return bytes;
}

Result<DroppedRows> ClickHouseStore::drop_old(const RowStoreLimits& limits) {
  const auto committed = committed_.newest(*connections_);
  const auto bytes = committed ? bytes_of_epochs() : propagate(committed);
  if (!bytes) {
    return propagate(bytes, "measuring the store {}", address_);
  }
  const CommittedBatches::Epochs& epochs = **committed;
  if (epochs.empty()) {
    return DroppedRows();
  }
  uint64_t all_bytes = 0;
  for (const auto& [number, of_epoch] : *bytes) {
    all_bytes += of_epoch;
  }
  const uint32_t newest = epochs.rbegin()->first;
  // A clock that jumps ahead by a year must not drop a year of history.
  const int64_t now_ns = std::min(now_ns_(), epochs.rbegin()->second.newest.written_ns + 24 * kNsPerHour);
  DroppedRows dropped;
  for (const auto& [number, of_epoch] : *bytes) {
    const auto epoch = epochs.find(number);
    const bool is_left_over = epoch == epochs.end() && number < epochs.begin()->first;
    if (!is_left_over && (epoch == epochs.end() || number == newest)) {
      break;
    }
    const auto end_ns = is_left_over ? Result<int64_t>(INT64_MIN) : end_of(epoch->second);
    if (!end_ns) {
      return propagate(end_ns);
    }
    const bool is_old = is_left_over || now_ns - limits.max_age_ns > *end_ns;
    if (!is_old && all_bytes <= limits.max_bytes) {
      break;
    }
    if (const Status gone = drop_epoch_of_all(*connections_, further_, number); !gone) {
      return propagate(gone);
    }
    all_bytes -= of_epoch;
    ++dropped.epochs;
    dropped.bytes += of_epoch;
  }
  return dropped;
}

// Complete epochs do not change: each is asked for once.
Result<int64_t> ClickHouseStore::end_of(const EpochBatches& epoch) {
  if (const auto known = ends_ns_.find(epoch.epoch); known != ends_ns_.end()) {
    return known->second;
  }
  const auto answer = connections_->query(
      fmt::format("SELECT max(to_ns) FROM origins WHERE {} FORMAT RowBinary", epoch.condition()));
  if (!answer) {
    return propagate(answer);
  }
  ByteReader reader(as_bytes(*answer));
  const auto end_ns = reader.read<int64_t>();
  if (!reader.ok()) {
    return fail(ErrorCode::kCorrupt, "reading the times of epoch {}: the answer is empty", epoch.epoch);
  }
  // One of profiles that were all set aside covers no time.
  ends_ns_[epoch.epoch] = end_ns == 0 ? epoch.newest.written_ns : end_ns;
  return ends_ns_[epoch.epoch];
}

Result<std::unique_ptr<Source>> open_source(const RowsAddress& rows) {
  const auto options = connection_to(rows);
  const auto further = options ? shards_of(rows) : propagate(options);
  return further ? Result<std::unique_ptr<Source>>(std::make_unique<ClickHouseSource>(
                       std::make_shared<ConnectionPool>(*options), pools_of(*further)))
                 : propagate(further);
}

}  // namespace plimsoll::store::clickhouse
