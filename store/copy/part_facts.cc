#include "store/copy/part_facts.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "store/catalogue/block_table.h"
#include "store/rollup/hours.h"

namespace plimsoll::store {
namespace {

class FactsReader {
 public:
  explicit FactsReader(sqlite::Database& catalogue) : catalogue_(catalogue) {}

  Status read_profile_facts(CopiedPart& part) {
    Status read = read_state(part);
    read = read && part.is_rolled_up ? read_roll_up(part) : read;
    read = read ? read_profiles(part) : read;
    return read ? read_set_aside(part) : read;
  }

  Status read_binary_facts(CopiedPart& part) {
    Status read = read_kernel_symbols(part);
    read = read ? read_machines(part) : read;
    return read ? read_accounts(part) : read;
  }

 private:
  Status read_state(CopiedPart& part) {
    const auto state = read_block_state(catalogue_);
    const auto is_rolled_up = state ? store::is_rolled_up(catalogue_) : propagate(state);
    const auto before = is_rolled_up ? accepted_before(catalogue_) : propagate(is_rolled_up);
    const auto last = before ? last_built_sequence(catalogue_) : propagate(before);
    if (!last) {
      return propagate(last);
    }
    part.takes_more = !state->is_sealed;
    part.first_written_ns = state->first_built_ns;
    part.is_rolled_up = *is_rolled_up;
    part.after = *before;
    part.last = *last;
    return {};
  }

  Status read_roll_up(CopiedPart& part) {
    return sqlite::for_each_row(catalogue_.query("SELECT rolled_up_ns, profiles FROM roll_up"),
                                [&](const sqlite::Statement& row) {
                                  part.rolled_up_ns = row.integer(0);
                                  part.rolled_up_profiles = static_cast<uint64_t>(row.integer(1));
                                });
  }

  Status read_profiles(CopiedPart& part) {
    auto origins = read_origins(catalogue_);
    if (!origins) {
      return propagate(origins);
    }
    for (size_t id = 1; id < origins->size(); ++id) {
      part.profiles.push_back(std::move(static_cast<ProfileRecord&>((*origins)[id])));
    }
    return part.is_rolled_up ? read_hours(part) : Status();
  }

  // What events of hours have beside those of profiles.
  Status read_hours(CopiedPart& part) {
    return sqlite::for_each_row(
        catalogue_.query(
            "SELECT origin, event, profiles, observed_ns, effective_samples FROM rolled_up_event"),
        [&](const sqlite::Statement& row) -> Status {
          const auto origin = static_cast<size_t>(row.integer(0));
          if (origin == 0 || origin > part.profiles.size()) {
            return fail(ErrorCode::kCorrupt, "{}: an event is of origin {}, which is not there",
                        catalogue_.path(), origin);
          }
          const auto event = static_cast<uint32_t>(row.integer(1));
          for (EventRecord& record : part.profiles[origin - 1].events) {
            if (record.event == event) {
              record.profiles = static_cast<uint64_t>(row.integer(2));
              record.observed_ns = row.integer(3);
              record.effective_samples = row.real(4);
            }
          }
          return {};
        });
  }

  Status read_kernel_symbols(CopiedPart& part) {
    return sqlite::for_each_row(
        catalogue_.query("SELECT binary, content FROM kernel_symbols ORDER BY binary"),
        [&](const sqlite::Statement& row) {
          part.kernel_symbols.push_back({static_cast<uint32_t>(row.integer(0)), row.blob(1)});
        });
  }

  // Blocks of an older version have none.
  Status read_machines(CopiedPart& part) {
    const auto has_machines = catalogue_.has_table("binary_machine");
    if (!has_machines || !*has_machines) {
      return has_machines ? Status() : propagate(has_machines);
    }
    return sqlite::for_each_row(
        catalogue_.query("SELECT binary, machine_id FROM binary_machine ORDER BY binary"),
        [&](const sqlite::Statement& row) {
          part.binary_machines.push_back({static_cast<uint32_t>(row.integer(0)), std::string(row.text(1))});
        });
  }

  Status read_set_aside(CopiedPart& part) {
    return sqlite::for_each_row(
        catalogue_.query("SELECT archive_sequence, reason FROM unbuildable ORDER BY archive_sequence"),
        [&](const sqlite::Statement& row) {
          part.set_aside.push_back({row.integer(0), std::string(row.text(1))});
        });
  }

  Status read_accounts(CopiedPart& part) {
    return sqlite::for_each_row(
        catalogue_.query(
            "SELECT id, quality, generation, reasons, looked_at FROM binary WHERE quality != 0 OR "
            "generation != 0 OR reasons != '' OR looked_at != '' ORDER BY id"),
        [&](const sqlite::Statement& row) {
          part.accounts.push_back({.binary = static_cast<uint32_t>(row.integer(0)),
                                   .account = {.quality = static_cast<SymbolQuality>(row.integer(1)),
                                               .generation = row.integer(2),
                                               .reasons = std::string(row.text(3)),
                                               .looked_at = std::string(row.text(4))}});
        });
  }

  sqlite::Database& catalogue_;
};

}  // namespace

Status read_part_facts(sqlite::Database& catalogue, CopiedPart& part) {
  const Status read = read_profile_facts(catalogue, part);
  return read ? read_binary_facts(catalogue, part) : read;
}

Status read_profile_facts(sqlite::Database& catalogue, CopiedPart& part) {
  return FactsReader(catalogue).read_profile_facts(part);
}

Status read_binary_facts(sqlite::Database& catalogue, CopiedPart& part) {
  return FactsReader(catalogue).read_binary_facts(part);
}

}  // namespace plimsoll::store
