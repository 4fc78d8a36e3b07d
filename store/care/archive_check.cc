#include "store/care/archive_check.h"

#include <algorithm>

#include "base/checksum.h"
#include "base/hex.h"
#include "proto/profile_codec.h"
#include "store/archive/archive.h"
#include "store/care/database_check.h"
#include "store/catalogue/block_table.h"
#include "store/model/dictionaries.h"

namespace plimsoll::store {
namespace {

constexpr std::string_view kProfilesSql =
    "SELECT archive_sequence, profile_id FROM origin UNION ALL SELECT archive_sequence, NULL FROM "
    "unbuildable "
    "ORDER BY 1";

// What is wrong with several profiles, said once.
struct Wrong {
  uint64_t count = 0;
  int64_t first = 0;

  void add(int64_t sequence) { first = count++ == 0 ? sequence : first; }
};

void report(CheckLog& log, const std::string& path, const Wrong& wrong, std::string_view what,
            std::string_view remedy) {
  if (wrong.count != 0) {
    log.add(path, fmt::format("{} {} (first: number {})", wrong.count, what, wrong.first),
            std::string(remedy));
  }
}

struct LedgerEntry {
  int64_t sequence = 0;
  std::string id;
};

// In slices, so that no reader holds up a writer's checkpoints.
Result<std::vector<LedgerEntry>> ledger_after(sqlite::Database& archive, int64_t after, int64_t up_to) {
  std::vector<LedgerEntry> entries;
  const Status read = sqlite::for_each_row(
      archive.query("SELECT sequence, id FROM ledger WHERE sequence > ? AND sequence <= ? ORDER BY sequence "
                    "LIMIT 10000",
                    after, up_to),
      [&](const sqlite::Statement& row) { entries.push_back({row.integer(0), row.blob(1)}); });
  return read ? Result<std::vector<LedgerEntry>>(std::move(entries)) : propagate(read);
}

struct RawProfile {
  int64_t sequence = 0;
  std::string id;
  std::string hash;
  std::string encoded;
};

// One of number 0 where there is none.
Result<RawProfile> raw_profile_after(sqlite::Database& archive, int64_t after, int64_t up_to) {
  RawProfile profile;
  const Status read = sqlite::for_each_row(
      archive.query(
          "SELECT sequence, id, content_hash, encoded FROM raw_profile JOIN ledger USING (sequence) "
          "WHERE sequence > ? AND sequence <= ? ORDER BY sequence LIMIT 1",
          after, up_to),
      [&](const sqlite::Statement& row) {
        profile = RawProfile{row.integer(0), row.blob(1), row.blob(2), row.blob(3)};
      });
  return read ? Result<RawProfile>(std::move(profile)) : propagate(read);
}

Status check_raw_profile(const RawProfile& profile) {
  if (content_hash(as_bytes(profile.encoded)) != profile.hash) {
    return fail(ErrorCode::kCorrupt,
                "its content is not what was accepted: the hash in the ledger is another");
  }
  // The limits may have been others when it was accepted.
  const auto decoded = wire::decode(as_bytes(profile.encoded), {UINT64_MAX, INT32_MAX});
  if (!decoded) {
    return propagate(decoded, "it cannot be decoded");
  }
  return decoded->profile_id() == profile.id
             ? Status()
             : fail(ErrorCode::kCorrupt, "it is profile {}, and {} in the ledger",
                    to_hex(decoded->profile_id()), to_hex(profile.id));
}

}  // namespace

void LedgerCheck::add_block(sqlite::Database& catalogue) {
  if (const Status compared = compare(catalogue); !compared) {
    log_.add(archive_.path(), compared.error(), kRestoreFile);
  }
}

void LedgerCheck::pass_over(sqlite::Database& catalogue) {
  const auto last = last_built_sequence(catalogue);
  if (!last) {
    log_.add(catalogue.path(), last.error(), kRestoreBlock);
    return;
  }
  last_ = std::max(last_, *last);
}

// The block is read first: a profile is in the ledger before it becomes rows.
Status LedgerCheck::compare(sqlite::Database& catalogue) {
  Wrong other;
  Wrong lost;
  Wrong overlapping;
  Wrong without_rows;
  const auto transaction = sqlite::Transaction::begin_read(catalogue);
  if (!transaction) {
    return propagate(transaction);
  }
  const auto last = catalogue.integer(fmt::format("SELECT max(archive_sequence) FROM ({})", kProfilesSql), 0);
  const auto rolled_up = last ? is_rolled_up(catalogue) : propagate(last);
  if (!rolled_up) {
    return propagate(rolled_up);
  }
  // Its origins are of several profiles each, and have the number of the last one.
  if (*rolled_up) {
    last_ = std::max(last_, *last);
    return {};
  }
  std::vector<LedgerEntry> entries;
  size_t next = 0;
  int64_t after = last_;
  // Up to a sequence; those before it have neither rows nor a reason.
  const auto advance_to = [&](int64_t sequence) -> Status {
    while (true) {
      if (next == entries.size()) {
        auto more = ledger_after(archive_, after, *last);
        if (!more) {
          return propagate(more);
        }
        entries = std::move(*more);
        next = 0;
        if (entries.empty()) {
          return {};
        }
      }
      if (entries[next].sequence >= sequence) {
        return {};
      }
      without_rows.add(entries[next].sequence);
      after = entries[next++].sequence;
    }
  };
  const Status compared =
      sqlite::for_each_row(catalogue.query(kProfilesSql), [&](const sqlite::Statement& row) -> Status {
        const int64_t sequence = row.integer(0);
        if (sequence <= last_ && last_ != 0) {
          overlapping.add(sequence);
          return {};
        }
        // Blocks before the first that is left have been dropped.
        if (after == 0) {
          after = sequence - 1;
        }
        if (const Status advanced = advance_to(sequence); !advanced) {
          return advanced;
        }
        const bool is_there = next < entries.size() && entries[next].sequence == sequence;
        if (!is_there) {
          // Of profiles whose content was deleted by age the ledger forgets some, at any time: not of later ones.
          const auto oldest =
              archive_.integer("SELECT coalesce(min(sequence), 9223372036854775807) FROM raw_profile", 0);
          if (!oldest) {
            return propagate(oldest);
          }
          if (sequence > *oldest) {
            lost.add(sequence);
          }
          return {};
        }
        if (const std::string id = row.blob(1); !id.empty() && id != entries[next].id) {
          other.add(sequence);
        }
        after = entries[next++].sequence;
        return {};
      });
  last_ = std::max(last_, *last);
  report(log_, archive_.path(), lost, "profiles that have rows are not in the ledger", kRestoreFile);
  report(log_, archive_.path(), without_rows, "accepted profiles have neither rows nor a reason why",
         "restore the directory from a backup, or import these profiles into a new one");
  report(log_, catalogue.path(), other, "profiles have another ID than in the ledger", kRestoreBlock);
  report(log_, catalogue.path(), overlapping, "profiles have rows in an earlier block too", kRestoreBlock);
  return compared;
}

void LedgerCheck::finish() {
  const auto highest = last_accepted_sequence(archive_);
  if (!highest) {
    log_.add(archive_.path(), highest.error(), kRestoreFile);
    return;
  }
  if (*highest < last_) {
    log_.add(
        archive_.path(),
        fmt::format("it is older than the blocks: its newest profile is number {}, and theirs is {}",
                    *highest, last_),
        "put the newest archive.db of this directory back, or restore the whole directory from one backup");
  }
  if (!has_rows_elsewhere_) {
    expect_none(
        log_, archive_,
        fmt::format(
            "SELECT count(*) FROM ledger WHERE sequence > {} AND sequence NOT IN (SELECT sequence FROM "
            "raw_profile)",
            last_),
        "profiles in the ledger wait to become rows, and their content is missing", kRestoreFile);
  }
  // Those without a hash have their IDs from rows elsewhere (Archive::add_known()).
  expect_none(
      log_, archive_,
      "SELECT count(*) FROM ledger WHERE sequence > (SELECT min(sequence) FROM raw_profile) AND sequence NOT "
      "IN (SELECT sequence FROM raw_profile) AND content_hash <> x''",
      "profiles in the ledger lack their content, though older ones have it", kRestoreFile);
}

void check_raw_profiles(CheckLog& log, sqlite::Database& archive) {
  log.start(archive.path());
  const auto newest = archive.integer("SELECT coalesce(max(sequence), 0) FROM raw_profile", 0);
  if (!newest) {
    log.add(archive.path(), newest.error(), kRestoreFile);
    return;
  }
  for (int64_t after = 0;;) {
    const auto profile = raw_profile_after(archive, after, *newest);
    if (!profile) {
      log.add(archive.path(), profile.error(), kRestoreFile);
      return;
    }
    if (profile->sequence == 0) {
      return;
    }
    after = profile->sequence;
    ++log.report().raw_profiles;
    if (const Status checked = check_raw_profile(*profile); !checked) {
      log.add(archive.path(), fmt::format("raw profile {}: {}", after, checked.error().message),
              std::string(kRestoreFile));
    }
    log.add_bytes(profile->encoded.size());
  }
}

}  // namespace plimsoll::store
