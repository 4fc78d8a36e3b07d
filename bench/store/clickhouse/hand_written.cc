#include "bench/store/clickhouse/hand_written.h"

#include <array>
#include <string_view>

#include "bench/store/clickhouse/statements.h"
#include "store/clickhouse/row_binary.h"

namespace plimsoll::bench {
namespace {

// They give the same rows, since each origin has one machine group.
constexpr std::array<std::string_view, 2> kJoins{"JOIN", "ANY LEFT JOIN"};

constexpr std::string_view kSumsByStack =
    "(SELECT stack, sum(hits) AS hits_of_stack FROM samples GROUP BY stack) AS s";

std::string largest(std::string_view key, std::string_view from, std::string_view hits) {
  return fmt::format("SELECT {0} FROM {1} GROUP BY {0} ORDER BY sum({2}) DESC, {0} LIMIT {3}", key, from,
                     hits, kShown);
}

// `hits` of `rows`, which are called s and have an origin, by `keys` and machine group.
std::string sums_by_machine_group(std::string_view keys, std::string_view hits, std::string_view rows,
                                  std::string_view join) {
  return fmt::format(
      "SELECT {0}, machine_group, sum({1}) AS hits_of_group FROM {2} {3} origin_groups AS g "
      "ON s.origin = g.origin GROUP BY {0}, machine_group",
      keys, hits, rows, join);
}

// Rows joined with their origins, or summed up by origin first.
std::vector<std::string> ways_by_column(std::string_view key) {
  const std::string shown =
      fmt::format("FROM samples WHERE {} IN ({})", key, largest(key, "samples", "hits"));
  const std::string rows = fmt::format("(SELECT {}, origin, hits {}) AS s", key, shown);
  const std::string sums = fmt::format(
      "(SELECT {0}, origin, sum(hits) AS hits_of_origin {1} GROUP BY {0}, origin) AS s", key, shown);
  std::vector<std::string> ways;
  for (const std::string_view join : kJoins) {
    ways.push_back(sums_by_machine_group(key, "hits", rows, join));
    ways.push_back(sums_by_machine_group(key, "hits_of_origin", sums, join));
  }
  return ways;
}

// Rows summed up by stack before their functions come in: all of them, or those of stacks that are shown; or rows joined with functions.
std::vector<std::string> ways_by_function(std::string_view table) {
  const std::string functions = fmt::format(
      "(SELECT stack, function FROM stacks.{0} WHERE function IN ({1})) AS f", table,
      largest("function", fmt::format("{} JOIN stacks.{} AS f ON s.stack = f.stack", kSumsByStack, table),
              "hits_of_stack"));
  const std::string shown = fmt::format(
      "(SELECT stack, origin, hits FROM samples WHERE stack IN (SELECT stack FROM {})) AS s", functions);
  const std::string joined = fmt::format(
      "(SELECT function, origin, hits FROM samples AS r JOIN {} ON r.stack = f.stack) AS s", functions);
  std::vector<std::string> ways;
  for (const std::string_view join : kJoins) {
    for (const std::string_view rows : {std::string_view("samples AS s"), std::string_view(shown)}) {
      ways.push_back(fmt::format(
          "SELECT function, machine_group, sum(hits_of_group) FROM ({}) AS h JOIN {} ON h.stack = f.stack "
          "GROUP BY function, machine_group",
          sums_by_machine_group("stack", "hits", rows, join), functions));
    }
    ways.push_back(sums_by_machine_group("function", "hits", joined, join));
  }
  return ways;
}

std::vector<std::string> ways_by_machine_group(Grouping grouping) {
  switch (grouping) {
    case Grouping::kFunctionSelf:
      return ways_by_function("leaf");
    case Grouping::kFunctionTotal:
      return ways_by_function("functions");
    case Grouping::kJob:
      return ways_by_column("job");
    default:
      return ways_by_column("stack");
  }
}

Status insert_functions(store::clickhouse::Connection& connection, const StackTree& tree) {
  store::clickhouse::RowBinaryWriter leaf;
  store::clickhouse::RowBinaryWriter functions;
  for (uint32_t stack = tree.first_stack; stack < tree.nodes.size(); ++stack) {
    leaf.number(stack).number(tree.leaf_function(stack));
    for (const uint32_t function : tree.distinct_functions(stack)) {
      functions.number(stack).number(function);
    }
  }
  const Status inserted = connection.insert("stacks.leaf", "stack, function", leaf.bytes());
  return inserted ? connection.insert("stacks.functions", "stack, function", functions.bytes()) : inserted;
}

}  // namespace

Status prepare_hand_written(store::clickhouse::Connection& connection, const StackTree& tree,
                            const store::clickhouse::EpochBatches& epoch) {
  constexpr std::string_view kFunctionTable =
      "(stack UInt32, function UInt32) ENGINE = MergeTree ORDER BY (stack, function)";
  const Status made = run_statements(
      connection,
      {fmt::format("CREATE VIEW samples AS SELECT workload AS job, stack, origin, hits FROM rows WHERE {}",
                   epoch.condition()),
       fmt::format("CREATE VIEW origin_groups AS SELECT id AS origin, toUInt8((machine - 1) % {}) AS "
                   "machine_group FROM origins WHERE {}",
                   kMachineGroupsInSql, epoch.condition()),
       "CREATE DATABASE stacks", fmt::format("CREATE TABLE stacks.leaf {}", kFunctionTable),
       fmt::format("CREATE TABLE stacks.functions {}", kFunctionTable)});
  const Status inserted = made ? insert_functions(connection, tree) : made;
  return inserted ? run_statements(connection, {"OPTIMIZE TABLE stacks.leaf FINAL",
                                                "OPTIMIZE TABLE stacks.functions FINAL"})
                  : inserted;
}

std::vector<HandWritten> hand_written(const Query& query, const std::string& database) {
  std::vector<HandWritten> statements;
  for (const std::string& sql : query.sql) {
    const std::string asked = fmt::format(fmt::runtime(sql), database);
    statements.push_back(
        {asked + " ORDER BY 1", fmt::format("{} ORDER BY 2 DESC, 1 LIMIT {}", asked, kShown)});
  }
  return statements;
}

std::vector<HandWritten> hand_written_by_machine_group(const Query& query) {
  std::vector<HandWritten> statements;
  for (const std::string& way : ways_by_machine_group(query.grouping)) {
    statements.push_back({way + " ORDER BY 1, 2", way + " ORDER BY 1, 2"});
  }
  return statements;
}

}  // namespace plimsoll::bench
