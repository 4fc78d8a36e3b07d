#include "store/draws/draw_store.h"

#include "base/random.h"
#include "base/time.h"
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

constexpr std::string_view kDrawColumns =
    "SELECT id, made_ns, interval_start_ns, interval_ns, window_start_ns, window_ns, due_ns, seed, policy, "
    "collects FROM draw ";

constexpr std::string_view kMachineColumns =
    "SELECT machine_id, stratum, inclusion_probability, platform, daemon_version, window_start_ns, told_ns, "
    "reported_ns, state, "
    "detail, "
    "answered_ns, observed_ns FROM drawn_machine ";

DrawnMachine read_machine(const sqlite::Statement& row) {
  return {.machine_id = std::string(row.text(0)),
          .stratum = static_cast<uint32_t>(row.integer(1)),
          .inclusion_probability = row.real(2),
          .platform = std::string(row.text(3)),
          .daemon_version = std::string(row.text(4)),
          .window_start_ns = row.integer(5),
          .told_ns = row.integer(6),
          .reported_ns = row.integer(7),
          .state = static_cast<wire::AssignmentState>(row.integer(8)),
          .detail = std::string(row.text(9)),
          .answered_ns = row.integer(10),
          .observed_ns = row.integer(11)};
}

wire::ApplicationKindReport read_kind(const sqlite::Statement& row) {
  wire::ApplicationKindReport kind;
  kind.set_kind(std::string(row.text(1)));
  kind.set_endpoints(static_cast<uint32_t>(row.integer(2)));
  kind.set_answered(static_cast<uint32_t>(row.integer(3)));
  kind.set_cause(std::string(row.text(4)));
  kind.set_with_cause(static_cast<uint32_t>(row.integer(5)));
  return kind;
}

Status insert(sqlite::Database& database, const Draw& draw) {
  const std::string collects = draw.collects.SerializeAsString();
  auto added = database.execute("INSERT INTO draw VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", draw.id,
                                draw.made_ns, draw.interval_start_ns, draw.interval_ns, draw.window_start_ns,
                                draw.window_ns, draw.due_ns, draw.seed, draw.policy, as_bytes(collects));
  for (size_t number = 0; added && number < draw.strata.size(); ++number) {
    const DrawStratum& stratum = draw.strata[number];
    added = database.execute("INSERT INTO draw_stratum VALUES (?, ?, ?, ?, ?, ?, ?)", draw.id, number,
                             stratum.name, stratum.machines, stratum.expected, stratum.drawn,
                             stratum.drawn_weight);
  }
  if (added && draw.method) {
    const std::string method = draw.method->SerializeAsString();
    added = database.execute("INSERT INTO draw_method VALUES (?, ?)", draw.id, as_bytes(method));
  }
  return added;
}

Status insert(sqlite::Database& database, std::string_view draw, const DrawnMachine& machine) {
  return database.execute("INSERT INTO drawn_machine VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", draw,
                          machine.machine_id, machine.stratum, machine.inclusion_probability,
                          machine.platform, machine.daemon_version, machine.window_start_ns, machine.told_ns,
                          machine.reported_ns, machine.state, machine.detail, machine.answered_ns,
                          machine.observed_ns);
}

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
    Status inserted = insert(database_, draw.draw);
    for (size_t i = 0; inserted && i < draw.machines.size(); ++i) {
      inserted = insert(database_, draw.draw.id, draw.machines[i]);
    }
    return inserted;
  });
  return added ? Status() : propagate(added, "storing draw {}", draw.draw.id);
}

Status DrawStore::update_kinds(std::string_view draw, const DrawnMachine& machine) {
  // What it says once replaces what it said before: reports add up to no more than one.
  return write([&] {
    Status kept = database_.execute("DELETE FROM drawn_kind WHERE draw = ? AND machine_id = ?", draw,
                                    machine.machine_id);
    for (size_t i = 0; kept && i < machine.kinds.size(); ++i) {
      const wire::ApplicationKindReport& kind = machine.kinds[i];
      kept = database_.execute("INSERT OR REPLACE INTO drawn_kind VALUES (?, ?, ?, ?, ?, ?, ?)", draw,
                               machine.machine_id, kind.kind(), kind.endpoints(), kind.answered(),
                               kind.cause(), kind.with_cause());
    }
    return kept;
  });
}

Status DrawStore::update(std::string_view draw, const DrawnMachine& machine) {
  return write([&] {
    return database_.execute(
        "UPDATE drawn_machine SET window_start_ns = ?, told_ns = ?, reported_ns = ?, state = ?, detail = ?, "
        "answered_ns = ?, "
        "observed_ns = ? WHERE draw = ? AND machine_id = ?",
        machine.window_start_ns, machine.told_ns, machine.reported_ns, machine.state, machine.detail,
        machine.answered_ns, machine.observed_ns, draw, machine.machine_id);
  });
}

Status DrawStore::read_strata(Draw& draw) {
  return sqlite::for_each_row(
      database_.query("SELECT name, machines, expected, drawn, drawn_weight FROM draw_stratum WHERE draw = ? "
                      "ORDER BY stratum",
                      draw.id),
      [&](const sqlite::Statement& row) {
        draw.strata.push_back({.name = std::string(row.text(0)),
                               .machines = row.integer(1),
                               .expected = row.real(2),
                               .drawn = row.integer(3),
                               .drawn_weight = row.real(4)});
      });
}

Status DrawStore::read_method(Draw& draw) {
  const auto is_there = database_.has_table("draw_method");
  if (!is_there || !*is_there) {
    return is_there ? Status() : propagate(is_there);
  }
  return sqlite::for_each_row(database_.query("SELECT method FROM draw_method WHERE draw = ?", draw.id),
                              [&](const sqlite::Statement& row) {
                                return draw.method.emplace().ParseFromString(row.blob(0))
                                           ? Status()
                                           : fail(ErrorCode::kCorrupt,
                                                  "the method of draw {} in {} is damaged", draw.id,
                                                  database_.path());
                              });
}

Status DrawStore::read_machines(DrawWithMachines& draw) {
  const Status read = sqlite::for_each_row(
      database_.query(std::string(kMachineColumns) + "WHERE draw = ? ORDER BY machine_id", draw.draw.id),
      [&](const sqlite::Statement& row) { draw.machines.push_back(read_machine(row)); });
  return read ? read_kinds(draw) : read;
}

Status DrawStore::read_kinds(DrawWithMachines& draw) {
  const auto is_there =
      database_.has_table("drawn_kind");  // a database that an older version wrote, open for reading
  if (!is_there || !*is_there) {
    return is_there ? Status() : propagate(is_there);
  }
  auto machine = draw.machines.begin();
  return sqlite::for_each_row(
      database_.query(
          "SELECT machine_id, kind, endpoints, answered, cause, with_cause FROM drawn_kind WHERE draw = ? "
          "ORDER BY machine_id, kind",
          draw.draw.id),
      [&](const sqlite::Statement& row) {
        // Both are in the order of the machines' IDs.
        while (machine != draw.machines.end() && machine->machine_id < row.text(0)) {
          ++machine;
        }
        if (machine != draw.machines.end() && machine->machine_id == row.text(0)) {
          machine->kinds.push_back(read_kind(row));
        }
      });
}

Result<std::vector<DrawWithMachines>> DrawStore::read_draws(Result<sqlite::Statement> rows) {
  std::vector<DrawWithMachines> draws;
  auto read = sqlite::for_each_row(std::move(rows), [&](const sqlite::Statement& row) -> Status {
    Draw& draw = draws.emplace_back().draw;
    draw.id = row.text(0);
    draw.made_ns = row.integer(1);
    draw.interval_start_ns = row.integer(2);
    draw.interval_ns = row.integer(3);
    draw.window_start_ns = row.integer(4);
    draw.window_ns = row.integer(5);
    draw.due_ns = row.integer(6);
    draw.seed = static_cast<uint64_t>(row.integer(7));
    draw.policy = row.text(8);
    if (!draw.collects.ParseFromString(row.blob(9))) {
      return fail(ErrorCode::kCorrupt, "the draw {} in {} is damaged", draw.id, database_.path());
    }
    return {};
  });
  for (size_t i = 0; read && i < draws.size(); ++i) {
    read = read_strata(draws[i].draw);
    if (read) {
      read = read_machines(draws[i]);
    }
  }
  return read ? Result<std::vector<DrawWithMachines>>(std::move(draws)) : propagate(read);
}

Result<std::optional<DrawWithMachines>> DrawStore::draw(std::string_view id) {
  auto draws = read_draws(database_.query(std::string(kDrawColumns) + "WHERE id = ?", id));
  if (!draws || draws->empty()) {
    return draws ? Result<std::optional<DrawWithMachines>>(std::nullopt) : propagate(draws);
  }
  const Status read = read_method(draws->front().draw);
  return read ? Result<std::optional<DrawWithMachines>>(std::move(draws->front())) : propagate(read);
}

Result<std::optional<DrawnMachine>> DrawStore::machine(std::string_view draw, std::string_view machine_id) {
  std::optional<DrawnMachine> machine;
  const auto read = sqlite::for_each_row(
      database_.query(std::string(kMachineColumns) + "WHERE draw = ? AND machine_id = ?", draw, machine_id),
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
  return read_draws(
      database_.query(std::string(kDrawColumns) + "WHERE made_ns > ? ORDER BY made_ns, id", since_ns));
}

Result<std::vector<DrawWithMachines>> DrawStore::open_draws(int64_t now_ns) {
  return read_draws(
      database_.query(std::string(kDrawColumns) + "WHERE due_ns > ? ORDER BY made_ns, id", now_ns));
}

Result<std::vector<DrawWithMachines>> DrawStore::newest(size_t limit) {
  return read_draws(
      database_.query(std::string(kDrawColumns) + "ORDER BY made_ns DESC, id DESC LIMIT ?", limit));
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
  std::vector<Stop> stops;
  const auto read = sqlite::for_each_row(
      database_.query("SELECT scope, value, reason, by_hand, step, since_ns, next_ns, times FROM stop"),
      [&](const sqlite::Statement& row) {
        stops.push_back({.scope = static_cast<StopScope>(row.integer(0)),
                         .value = std::string(row.text(1)),
                         .reason = std::string(row.text(2)),
                         .by_hand = row.integer(3) != 0,
                         .step = static_cast<StopStep>(row.integer(4)),
                         .since_ns = row.integer(5),
                         .next_ns = row.integer(6),
                         .times = row.integer(7)});
      });
  return read ? Result<std::vector<Stop>>(std::move(stops)) : propagate(read);
}

Status DrawStore::replace_stops(const std::vector<Stop>& stops, int64_t now_ns, std::string_view log) {
  return write_durably([&] {
    Status written = database_.execute("DELETE FROM stop");
    for (size_t i = 0; written && i < stops.size(); ++i) {
      const Stop& stop = stops[i];
      written = database_.execute("INSERT INTO stop VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                                  static_cast<int64_t>(stop.scope), stop.value, stop.reason, stop.by_hand,
                                  static_cast<int64_t>(stop.step), stop.since_ns, stop.next_ns, stop.times);
    }
    return written ? database_.execute("INSERT INTO stop_log VALUES (?, ?)", now_ns, log) : written;
  });
}

Result<std::vector<ExperimentDefinition>> DrawStore::experiments() {
  const auto is_there = database_.has_table("experiment_parameter");
  if (!is_there || !*is_there) {
    return is_there ? Result<std::vector<ExperimentDefinition>>() : propagate(is_there);
  }
  std::vector<ExperimentDefinition> experiments;
  // One statement sees one state, whatever the server changes meanwhile.
  const auto read = sqlite::for_each_row(
      database_.query("SELECT experiment.name, feature, owner, defined_ns, changed_ns, "
                      "coalesce(experiment_parameter.name, ''), coalesce(value, '') FROM experiment "
                      "LEFT JOIN experiment_parameter ON experiment_parameter.experiment = experiment.name "
                      "ORDER BY experiment.name, number"),
      [&](const sqlite::Statement& row) {
        if (experiments.empty() || experiments.back().name != row.text(0)) {
          experiments.push_back({.name = std::string(row.text(0)),
                                 .feature = std::string(row.text(1)),
                                 .owner = std::string(row.text(2)),
                                 .parameters = {},
                                 .defined_ns = row.integer(3),
                                 .changed_ns = row.integer(4)});
        }
        if (!row.text(5).empty()) {
          experiments.back().parameters.emplace_back(row.text(5), row.text(6));
        }
      });
  return read ? Result<std::vector<ExperimentDefinition>>(std::move(experiments)) : propagate(read);
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
  const Status kept = write_durably([&]() -> Status {
    Status written =
        database_.execute("DELETE FROM experiment_parameter WHERE experiment = ?", definition.name);
    written = written ? database_.execute("DELETE FROM experiment WHERE name = ?", definition.name) : written;
    written = written ? database_.execute("INSERT INTO experiment VALUES (?, ?, ?, ?, ?)", definition.name,
                                          definition.feature, definition.owner, definition.defined_ns,
                                          definition.changed_ns)
                      : written;
    for (size_t i = 0; written && i < definition.parameters.size(); ++i) {
      const auto& [name, value] = definition.parameters[i];
      written = database_.execute("INSERT INTO experiment_parameter VALUES (?, ?, ?, ?)", definition.name, i,
                                  name, value);
    }
    return written;
  });
  return kept ? Status() : propagate(kept, "storing experiment {}", definition.name);
}

Result<bool> DrawStore::withdraw_experiment(std::string_view name) {
  const auto known = database_.integer("SELECT count(*) FROM experiment WHERE name = ?", 0, name);
  if (!known || *known == 0) {
    return known ? Result<bool>(false) : propagate(known);
  }
  const Status withdrawn = write_durably([&]() -> Status {
    const Status written = database_.execute("DELETE FROM experiment_parameter WHERE experiment = ?", name);
    return written ? database_.execute("DELETE FROM experiment WHERE name = ?", name) : written;
  });
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
