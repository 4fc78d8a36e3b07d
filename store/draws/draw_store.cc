#include "store/draws/draw_store.h"

#include "base/random.h"
#include "base/time.h"
#include "store/draws/draw_rows.h"
#include "store/draws/experiment_rows.h"
#include "store/draws/stop_rows.h"
#include "store/identity/listed_database.h"

namespace plimsoll::store {
namespace {

constexpr const char* kSchema = R"sql(
CREATE TABLE IF NOT EXISTS seed (value INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS draw (
  id TEXT PRIMARY KEY,
  made_ns INTEGER NOT NULL,
  interval_start_ns INTEGER NOT NULL, interval_ns INTEGER NOT NULL,
  window_start_ns INTEGER NOT NULL, window_ns INTEGER NOT NULL,
  due_ns INTEGER NOT NULL,
  seed INTEGER NOT NULL,  -- the bits of an unsigned number
  policy TEXT NOT NULL,
  collects BLOB NOT NULL  -- a plimsoll.wire.Assignment
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS draw_made ON draw(made_ns);
CREATE INDEX IF NOT EXISTS draw_due ON draw(due_ns);
CREATE TABLE IF NOT EXISTS draw_stratum (
  draw TEXT NOT NULL REFERENCES draw(id), stratum INTEGER NOT NULL,
  name TEXT NOT NULL, machines INTEGER NOT NULL, expected REAL NOT NULL, drawn INTEGER NOT NULL,
  drawn_weight REAL NOT NULL,
  PRIMARY KEY (draw, stratum)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS drawn_machine (
  draw TEXT NOT NULL, machine_id TEXT NOT NULL, stratum INTEGER NOT NULL, inclusion_probability REAL NOT NULL,
  platform TEXT NOT NULL, daemon_version TEXT NOT NULL,
  window_start_ns INTEGER NOT NULL,  -- 0: withheld
  told_ns INTEGER NOT NULL, reported_ns INTEGER NOT NULL, state INTEGER NOT NULL, detail TEXT NOT NULL,
  answered_ns INTEGER NOT NULL, observed_ns INTEGER NOT NULL,
  PRIMARY KEY (draw, machine_id),
  FOREIGN KEY (draw, stratum) REFERENCES draw_stratum(draw, stratum)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS drawn_kind (
  draw TEXT NOT NULL, machine_id TEXT NOT NULL, kind TEXT NOT NULL,
  endpoints INTEGER NOT NULL, answered INTEGER NOT NULL, cause TEXT NOT NULL, with_cause INTEGER NOT NULL,
  PRIMARY KEY (draw, machine_id, kind)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS draw_method (
  draw TEXT PRIMARY KEY REFERENCES draw(id), method BLOB NOT NULL  -- a plimsoll.wire.DrawMethod
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS stop (
  scope INTEGER NOT NULL, value TEXT NOT NULL, reason TEXT NOT NULL, by_hand INTEGER NOT NULL,
  step INTEGER NOT NULL, since_ns INTEGER NOT NULL, next_ns INTEGER NOT NULL, times INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS stop_log (at_ns INTEGER NOT NULL, what TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS experiment (
  name TEXT PRIMARY KEY, feature TEXT NOT NULL, owner TEXT NOT NULL,
  defined_ns INTEGER NOT NULL, changed_ns INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS experiment_parameter (
  experiment TEXT NOT NULL REFERENCES experiment(name), number INTEGER NOT NULL,
  name TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (experiment, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS writer (
  number INTEGER PRIMARY KEY,
  id INTEGER NOT NULL,  -- the bits of an unsigned number
  process INTEGER NOT NULL, host TEXT NOT NULL, since_ns INTEGER NOT NULL
);
)sql";

// No server that runs has an older number: each start of a server takes one.
constexpr int64_t kKeptWriters = 1000;

}  // namespace

Result<DrawStore> DrawStore::open(const std::string& path, sqlite::OpenMode mode) {
  auto database = sqlite::Database::open(path, mode);
  if (!database) {
    return propagate(database);
  }
  if (mode == sqlite::OpenMode::kReadWrite) {
    // What became of machines may be lost with the power: add() alone waits for the disk.
    if (auto created = database->run(std::string(kSchema) + "PRAGMA synchronous=NORMAL;"); !created) {
      return propagate(created, "creating the tables of draws");
    }
  }
  return DrawStore(std::move(*database));
}

template <typename Change>
Status DrawStore::write(const Change& change) {
  auto transaction = sqlite::Transaction::begin(database_);
  if (!transaction) {
    return propagate(transaction);
  }
  // No other process writes from here to the commit: none can become the newest in between.
  const Status is_newest = expect_newest_writer();
  const Status written = is_newest ? change() : is_newest;
  return written ? transaction->commit() : written;
}

template <typename Change>
Status DrawStore::write_durably(const Change& change) {
  if (auto waits = database_.run("PRAGMA synchronous=FULL"); !waits) {
    return waits;
  }
  const Status committed = write(change);
  return committed ? database_.run("PRAGMA synchronous=NORMAL") : committed;
}

Result<DrawStore> DrawStore::open_for(const std::string& path, const DrawWriter& writer) {
  auto store = open(path, sqlite::OpenMode::kReadWrite);
  const Status known = store && writer.id != 0 ? store->become(writer) : Status();
  return known ? std::move(store) : propagate(known, "noting who writes {}", path);
}

Status DrawStore::become(const DrawWriter& writer) {
  int64_t number = 0;
  const Status known = write_durably([&]() -> Status {
    const auto own = database_.integer("SELECT number FROM writer WHERE id = ?", 0, writer.id);
    const auto newest =
        own ? database_.integer("SELECT coalesce(max(number), 0) FROM writer", 0) : propagate(own);
    if (!newest) {
      return propagate(newest);
    }
    number = *own != 0 ? *own : *newest + 1;
    if (*own != 0) {
      return {};
    }
    const Status added = database_.execute("INSERT INTO writer VALUES (?, ?, ?, ?, ?)", number, writer.id,
                                           writer.process, writer.host, writer.since_ns);
    return added ? database_.execute("DELETE FROM writer WHERE number <= ?", number - kKeptWriters) : added;
  });
  writer_ = number;
  return known;
}

Status DrawStore::expect_newest_writer() {
  if (writer_ == 0) {
    return {};
  }
  return sqlite::for_each_row(
      database_.query("SELECT number, process, host, since_ns FROM writer ORDER BY number DESC LIMIT 1"),
      [&](const sqlite::Statement& row) -> Status {
        if (row.integer(0) == writer_) {
          return {};
        }
        return with_hint(fail(ErrorCode::kConflict,
                              "another server has taken over the directory of {} since {} (process {} on {})",
                              database_.path(), format_time(row.integer(3) / kNsPerSecond * kNsPerSecond),
                              row.integer(1), row.text(2)),
                         "this server must end");
      });
}

Result<std::optional<DrawStore>> DrawStore::open_if_there(const std::string& path) {
  const auto is_there = is_database_there(path);
  if (!is_there || !*is_there) {
    return is_there ? Result<std::optional<DrawStore>>(std::nullopt) : propagate(is_there);
  }
  auto store = open(path, sqlite::OpenMode::kRead);
  return store ? Result<std::optional<DrawStore>>(std::move(*store)) : propagate(store);
}

Result<uint64_t> DrawStore::seed() {
  const Status made = write([&] {
    return database_.execute("INSERT INTO seed SELECT ? WHERE NOT EXISTS (SELECT 1 FROM seed)",
                             plimsoll::random_seed());
  });
  const auto seed = made ? database_.integer("SELECT value FROM seed", 0) : propagate(made);
  return seed ? Result<uint64_t>(static_cast<uint64_t>(*seed)) : propagate(seed);
}

Status DrawStore::add(const DrawWithMachines& draw) {
  const auto added = write_durably([&]() -> Status {
    const auto there =
        database_.integer("SELECT count(*) FROM draw WHERE id = ?", 0, std::string_view(draw.draw.id));
    if (!there || *there > 0) {
      return !there ? propagate(there) : fail(ErrorCode::kConflict, "it exists already");
    }
    Status inserted = insert_draw(database_, draw.draw);
    for (size_t i = 0; inserted && i < draw.machines.size(); ++i) {
      inserted = insert_machine(database_, draw.draw.id, draw.machines[i]);
    }
    return inserted;
  });
  return added ? Status() : propagate(added, "storing draw {}", draw.draw.id);
}

Status DrawStore::update_kinds(std::string_view draw, const DrawnMachine& machine) {
  // What it says once replaces what it said before: reports add up to no more than one.
  return write([&] { return replace_kinds(database_, draw, machine); });
}

Status DrawStore::update(std::string_view draw, const DrawnMachine& machine) {
  return write([&] {
    return database_.execute(
        "UPDATE drawn_machine SET window_start_ns = ?, told_ns = ?, reported_ns = ?, state = ?, detail = ?, "
        "answered_ns = ?, observed_ns = ? WHERE draw = ? AND machine_id = ?",
        machine.window_start_ns, machine.told_ns, machine.reported_ns, machine.state, machine.detail,
        machine.answered_ns, machine.observed_ns, draw, machine.machine_id);
  });
}

Result<std::optional<DrawWithMachines>> DrawStore::draw(std::string_view id) {
  auto draws = read_draws(database_, database_.query(select_draws("WHERE id = ?"), id));
  if (!draws || draws->empty()) {
    return draws ? Result<std::optional<DrawWithMachines>>(std::nullopt) : propagate(draws);
  }
  const Status read = read_method(database_, draws->front().draw);
  return read ? Result<std::optional<DrawWithMachines>>(std::move(draws->front())) : propagate(read);
}

Result<std::optional<DrawnMachine>> DrawStore::machine(std::string_view draw, std::string_view machine_id) {
  std::optional<DrawnMachine> machine;
  const auto read = sqlite::for_each_row(
      database_.query(select_machines("WHERE draw = ? AND machine_id = ?"), draw, machine_id),
      [&](const sqlite::Statement& row) { machine = read_machine(row); });
  return read ? Result<std::optional<DrawnMachine>>(std::move(machine)) : propagate(read);
}

Result<std::optional<wire::Draw>> DrawStore::draw_of(std::string_view draw, std::string_view machine_id) {
  std::optional<wire::Draw> found;
  const auto read = sqlite::for_each_row(
      database_.query("SELECT name, inclusion_probability, interval_start_ns, interval_ns FROM drawn_machine "
                      "JOIN draw ON draw.id = drawn_machine.draw "
                      "JOIN draw_stratum USING (draw, stratum) WHERE draw.id = ? AND machine_id = ?",
                      draw, machine_id),
      [&](const sqlite::Statement& row) {
        Draw of;
        of.id = draw;
        of.strata.push_back({.name = std::string(row.text(0))});
        of.interval_start_ns = row.integer(2);
        of.interval_ns = row.integer(3);
        found = wire_draw(of, {.machine_id = {}, .stratum = 0, .inclusion_probability = row.real(1)});
      });
  return read ? Result<std::optional<wire::Draw>>(std::move(found)) : propagate(read);
}

Result<std::vector<DrawWithMachines>> DrawStore::made_after(int64_t since_ns) {
  return read_draws(database_,
                    database_.query(select_draws("WHERE made_ns > ? ORDER BY made_ns, id"), since_ns));
}

Result<std::vector<DrawWithMachines>> DrawStore::open_draws(int64_t now_ns) {
  return read_draws(database_,
                    database_.query(select_draws("WHERE due_ns > ? ORDER BY made_ns, id"), now_ns));
}

Result<std::vector<DrawWithMachines>> DrawStore::newest(size_t limit) {
  return read_draws(database_,
                    database_.query(select_draws("ORDER BY made_ns DESC, id DESC LIMIT ?"), limit));
}

Result<int64_t> DrawStore::count() {
  return database_.integer("SELECT count(*) FROM draw", 0);
}

Result<int64_t> DrawStore::drawn_until_ns() {
  return database_.integer(
      "SELECT coalesce(max(interval_start_ns + interval_ns), 0) FROM draw WHERE substr(id, 1, ?) <> ?", 0,
      kOrderPrefix.size(), kOrderPrefix);
}

Result<std::vector<DrawnWeight>> DrawStore::drawn_weights(std::string_view draw) {
  std::vector<DrawnWeight> weights;
  const auto read = sqlite::for_each_row(
      database_.query("SELECT name, drawn, drawn_weight FROM draw_stratum WHERE draw = ? ORDER BY stratum",
                      draw),
      [&](const sqlite::Statement& row) {
        weights.push_back({std::string(row.text(0)), static_cast<size_t>(row.integer(1)), row.real(2)});
      });
  return read ? Result<std::vector<DrawnWeight>>(std::move(weights)) : propagate(read);
}

Result<std::vector<Stop>> DrawStore::stops() {
  return read_stops(database_);
}

Status DrawStore::replace_stops(const std::vector<Stop>& stops, int64_t now_ns, std::string_view log) {
  return write_durably([&] { return store::replace_stops(database_, stops, now_ns, log); });
}

Result<std::vector<ExperimentDefinition>> DrawStore::experiments() {
  return read_experiments(database_);
}

Status DrawStore::keep_experiment(const ExperimentDefinition& definition) {
  if (Status fits = check_experiment_texts(definition); !fits) {
    return fits;
  }
  const auto others = database_.integer("SELECT count(*) FROM experiment WHERE name <> ?", 0,
                                        std::string_view(definition.name));
  if (!others) {
    return propagate(others);
  }
  if (static_cast<size_t>(*others) >= kMaxExperiments) {
    return with_hint(fail(ErrorCode::kTooLarge, "{} experiments are defined, which is the limit", *others),
                     "withdraw experiments that have ended: plimsoll experiment withdraw NAME");
  }
  const Status kept = write_durably([&] { return replace_experiment(database_, definition); });
  return kept ? Status() : propagate(kept, "storing experiment {}", definition.name);
}

Result<bool> DrawStore::withdraw_experiment(std::string_view name) {
  const auto known = database_.integer("SELECT count(*) FROM experiment WHERE name = ?", 0, name);
  if (!known || *known == 0) {
    return known ? Result<bool>(false) : propagate(known);
  }
  const Status withdrawn = write_durably([&] { return delete_experiment(database_, name); });
  return withdrawn ? Result<bool>(true) : propagate(withdrawn, "withdrawing experiment {}", name);
}

Status DrawStore::forget_machines(int64_t due_before_ns) {
  return write([&] {
    const Status kinds = database_.execute(
        "DELETE FROM drawn_kind WHERE draw IN (SELECT id FROM draw WHERE due_ns < ?)", due_before_ns);
    return kinds ? database_.execute(
                       "DELETE FROM drawn_machine WHERE draw IN (SELECT id FROM draw WHERE due_ns < ?)",
                       due_before_ns)
                 : kinds;
  });
}

}  // namespace plimsoll::store
