#include "bench/query/views_peer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <ranges>
#include <set>
#include <variant>

#include "base/file.h"

namespace plimsoll::bench {
namespace {

constexpr std::array<const char*, 3> kOrders{"by_time", "by_event", "by_job"};

// Of stacks that rows are on.
void write_functions(const query::Snapshot& snapshot, const std::vector<bool>& has_rows,
                     const std::string& folder) {
  const auto keys = snapshot.frame_keys->of(snapshot, {"function"});
  const auto& stacks = snapshot.dictionaries.stacks;
  std::ofstream leaf(folder + "/leaf.csv");
  std::ofstream functions(folder + "/functions.csv");
  for (uint32_t stack = 0; stack < stacks.size(); ++stack) {
    if (!has_rows[stack]) {
      continue;
    }
    leaf << stack << ',' << keys->of_location(stacks[stack].location).front() << '\n';
    std::set<uint32_t> on_stack;
    for (uint32_t node = stack; node != 0; node = stacks[node].parent) {
      const auto here = keys->of_location(stacks[node].location);
      on_stack.insert(here.begin(), here.end());
    }
    for (const uint32_t function : on_stack) {
      functions << stack << ',' << function << '\n';
    }
  }
}

// The numbers of the last columns of a line.
std::vector<double> numbers_of(std::string_view line, size_t count) {
  std::vector<double> numbers;
  for (const auto cell : std::views::split(line, ',')) {
    double number = 0;
    std::from_chars(&*cell.begin(), &*cell.begin() + std::ranges::distance(cell), number);
    numbers.push_back(number);
  }
  numbers.erase(numbers.begin(), numbers.end() - static_cast<ptrdiff_t>(std::min(count, numbers.size())));
  return numbers;
}

}  // namespace

Result<ViewsPeer> ViewsPeer::start(const query::Snapshot& snapshot, const ScratchFolder& folder) {
  const std::string path = folder / "peer";
  if (::mkdir(path.c_str(), 0700) != 0) {
    return fail_errno(errno, "making {}", path);
  }
  auto peer = Peer::start("duckdb", path);
  if (!peer) {
    return propagate(peer);
  }
  ViewsPeer started(std::move(*peer), path);
  if (const Status written = started.write_rows(snapshot); !written) {
    return propagate(written);
  }
  const auto loaded = started.peer_.ask("load 32");
  return loaded ? Result<ViewsPeer>(std::move(started)) : propagate(loaded, "loading rows into DuckDB");
}

Status ViewsPeer::write_rows(const query::Snapshot& snapshot) {
  const store::Dictionaries& dictionaries = snapshot.dictionaries;
  std::map<std::string_view, size_t> numbers;
  std::vector<size_t> job_of_workload;
  for (const store::WorkloadEntry& workload : dictionaries.workloads) {
    const auto [job, is_new] = numbers.try_emplace(workload.job, jobs_.size());
    if (is_new) {
      jobs_.push_back(workload.job);
    }
    job_of_workload.push_back(job->second);
  }
  std::vector<bool> has_rows(dictionaries.stacks.size());
  std::ofstream csv(folder_ + "/rows.csv");
  const auto cursor = snapshot.rows->scan({});
  fmt::memory_buffer text;
  while (true) {
    const auto batch = cursor->next();
    if (!batch) {
      return propagate(batch);
    }
    if (batch->empty()) {
      break;
    }
    text.clear();
    for (const store::Row& row : *batch) {
      has_rows[row[store::Column::kStack]] = true;
      fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{}\n",
                     dictionaries.origins[row[store::Column::kOrigin]].from_ns / 1'000'000'000,
                     row[store::Column::kEvent], snapshot.origins.machine_of(row[store::Column::kOrigin]),
                     job_of_workload[row[store::Column::kWorkload]], row[store::Column::kThread],
                     row[store::Column::kStack], row.hits);
    }
    csv.write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  write_functions(snapshot, has_rows, folder_);
  return csv.flush() ? Status() : Status(fail(ErrorCode::kIo, "writing {}/rows.csv", folder_));
}

Result<double> ViewsPeer::time_ms(const std::string& sql, const std::string& order) {
  return peer_.ask_number("time " + fmt::format(fmt::runtime(sql), order));
}

Result<std::string> ViewsPeer::fastest_order(const std::string& sql) {
  std::string fastest;
  double fastest_ms = 0;
  for (const char* order : kOrders) {
    const auto first_ms = time_ms(sql, order);
    const auto second_ms = first_ms ? time_ms(sql, order) : first_ms;
    if (!second_ms) {
      return propagate(second_ms);
    }
    if (const double took_ms = std::min(*first_ms, *second_ms); fastest.empty() || took_ms < fastest_ms) {
      fastest = order;
      fastest_ms = took_ms;
    }
  }
  return fastest;
}

std::string ViewsPeer::top_functions(std::string_view where) {
  return fmt::format(
      "with s as materialized (select stack, sum(hits) as hits from {{}}.samples where {} group by stack), "
      "self as (select function, sum(hits) as hits from s join stacks.leaf using (stack) group by function), "
      "total as (select function, sum(hits) as hits from s join stacks.functions using (stack) group by "
      "function) select function, coalesce(self.hits, 0) / (select sum(hits) from s) as self, total.hits / "
      "(select sum(hits) from s) as total from total left join self using (function) order by self desc, "
      "total desc limit 20",
      where);
}

std::string ViewsPeer::top_jobs() {
  return "select job, part, part from (select job, sum(hits) / (select sum(hits) from {0}.samples) as part "
         "from {0}.samples group by job) order by part desc limit 20";
}

std::string ViewsPeer::diff_functions(std::string_view base, std::string_view other) {
  const auto side = [](std::string_view name, std::string_view where) {
    return fmt::format(
        "{0}_s as materialized (select stack, sum(hits) as hits from {{0}}.samples where {1} group by "
        "stack), "
        "{0}_self as (select function, sum(hits) / (select sum(hits) from {0}_s) as part from {0}_s join "
        "stacks.leaf using (stack) group by function), {0}_total as (select function, sum(hits) / (select "
        "sum(hits) from {0}_s) as part from {0}_s join stacks.functions using (stack) group by function)",
        name, where);
  };
  return fmt::format(
      "with {}, {} select function, coalesce(a_self.part, 0) as a, coalesce(b_self.part, 0) as b, "
      "a_total.part, b_total.part from a_total full join b_total using (function) left join a_self using "
      "(function) left join b_self using (function) order by abs(a - b) desc limit 20",
      side("a", base), side("b", other));
}

std::string ViewsPeer::jobs(const std::function<bool(std::string_view)>& passes) const {
  std::vector<size_t> numbers;
  for (size_t job = 0; job < jobs_.size(); ++job) {
    if (passes(jobs_[job])) {
      numbers.push_back(job);
    }
  }
  return fmt::format("job in ({})", fmt::join(numbers, ","));
}

Status ViewsPeer::expect_same(const std::string& sql, const query::Table& table) {
  const std::string path = folder_ + "/answer.csv";
  const auto answered =
      peer_.ask(fmt::format("answer {} {}", path, fmt::format(fmt::runtime(sql), kOrders.front())));
  const auto theirs = answered ? read_file(path, uint64_t{1} << 20U) : propagate(answered);
  if (!theirs) {
    return propagate(theirs);
  }
  size_t row = 0;
  for (const auto part : std::views::split(*theirs, '\n')) {
    const std::string_view line(part.begin(), part.end());
    if (line.empty() || row == table.rows.size()) {
      continue;
    }
    std::vector<double> ours;
    for (size_t column = 0; column < table.columns.size(); ++column) {
      const std::string& name = table.columns[column].name;
      if (name == "self_share" || name == "total_share") {
        ours.push_back(std::get<double>(table.rows[row][column]));
      }
    }
    const std::vector<double> numbers = numbers_of(line, ours.size());
    const bool is_same =
        std::ranges::equal(ours, numbers, [](double a, double b) { return std::abs(a - b) <= 1e-9; });
    if (!is_same) {
      return fail(ErrorCode::kCorrupt, "{} answers otherwise in row {}: {}, not {}", name(), row, line,
                  fmt::join(ours, ","));
    }
    ++row;
  }
  return row == std::min<size_t>(20, table.rows.size())
             ? Status()
             : Status(fail(ErrorCode::kCorrupt, "{} has {} rows of {}", name(), row, table.rows.size()));
}

}  // namespace plimsoll::bench
