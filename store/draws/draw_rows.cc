#include "store/draws/draw_rows.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace plimsoll::store {
namespace {

constexpr std::string_view kDrawColumns =
    "SELECT id, made_ns, interval_start_ns, interval_ns, window_start_ns, window_ns, due_ns, seed, policy, "
    "collects FROM draw ";

constexpr std::string_view kMachineColumns =
    "SELECT machine_id, stratum, inclusion_probability, platform, daemon_version, window_start_ns, told_ns, "
    "reported_ns, state, detail, answered_ns, observed_ns FROM drawn_machine ";

wire::ApplicationKindReport read_kind(const sqlite::Statement& row) {
  wire::ApplicationKindReport kind;
  kind.set_kind(std::string(row.text(1)));
  kind.set_endpoints(static_cast<uint32_t>(row.integer(2)));
  kind.set_answered(static_cast<uint32_t>(row.integer(3)));
  kind.set_cause(std::string(row.text(4)));
  kind.set_with_cause(static_cast<uint32_t>(row.integer(5)));
  return kind;
}

Status read_strata(sqlite::Database& database, Draw& draw) {
  return sqlite::for_each_row(
      database.query("SELECT name, machines, expected, drawn, drawn_weight FROM draw_stratum WHERE draw = ? "
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

Status read_kinds(sqlite::Database& database, DrawWithMachines& draw) {
  // A database that an older version wrote, open for reading, has no such table.
  const auto is_there = database.has_table("drawn_kind");
  if (!is_there || !*is_there) {
    return is_there ? Status() : propagate(is_there);
  }
  auto machine = draw.machines.begin();
  return sqlite::for_each_row(
      database.query(
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

Status read_machines(sqlite::Database& database, DrawWithMachines& draw) {
  const Status read = sqlite::for_each_row(
      database.query(select_machines("WHERE draw = ? ORDER BY machine_id"), draw.draw.id),
      [&](const sqlite::Statement& row) { draw.machines.push_back(read_machine(row)); });
  return read ? read_kinds(database, draw) : read;
}

}  // namespace

Status insert_draw(sqlite::Database& database, const Draw& draw) {
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

Status insert_machine(sqlite::Database& database, std::string_view draw, const DrawnMachine& machine) {
  return database.execute("INSERT INTO drawn_machine VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", draw,
                          machine.machine_id, machine.stratum, machine.inclusion_probability,
                          machine.platform, machine.daemon_version, machine.window_start_ns, machine.told_ns,
                          machine.reported_ns, machine.state, machine.detail, machine.answered_ns,
                          machine.observed_ns);
}

Status replace_kinds(sqlite::Database& database, std::string_view draw, const DrawnMachine& machine) {
  Status kept =
      database.execute("DELETE FROM drawn_kind WHERE draw = ? AND machine_id = ?", draw, machine.machine_id);
  for (size_t i = 0; kept && i < machine.kinds.size(); ++i) {
    const wire::ApplicationKindReport& kind = machine.kinds[i];
    kept = database.execute("INSERT OR REPLACE INTO drawn_kind VALUES (?, ?, ?, ?, ?, ?, ?)", draw,
                            machine.machine_id, kind.kind(), kind.endpoints(), kind.answered(), kind.cause(),
                            kind.with_cause());
  }
  return kept;
}

std::string select_draws(std::string_view which) {
  return fmt::format("{}{}", kDrawColumns, which);
}

std::string select_machines(std::string_view which) {
  return fmt::format("{}{}", kMachineColumns, which);
}

Result<std::vector<DrawWithMachines>> read_draws(sqlite::Database& database, Result<sqlite::Statement> rows) {
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
      return fail(ErrorCode::kCorrupt, "the draw {} in {} is damaged", draw.id, database.path());
    }
    return {};
  });
  for (size_t i = 0; read && i < draws.size(); ++i) {
    read = read_strata(database, draws[i].draw);
    if (read) {
      read = read_machines(database, draws[i]);
    }
  }
  return read ? Result<std::vector<DrawWithMachines>>(std::move(draws)) : propagate(read);
}

Status read_method(sqlite::Database& database, Draw& draw) {
  const auto is_there = database.has_table("draw_method");
  if (!is_there || !*is_there) {
    return is_there ? Status() : propagate(is_there);
  }
  return sqlite::for_each_row(database.query("SELECT method FROM draw_method WHERE draw = ?", draw.id),
                              [&](const sqlite::Statement& row) {
                                return draw.method.emplace().ParseFromString(row.blob(0))
                                           ? Status()
                                           : fail(ErrorCode::kCorrupt,
                                                  "the method of draw {} in {} is damaged", draw.id,
                                                  database.path());
                              });
}

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

}  // namespace plimsoll::store
