#include "bench/appprof/workloads.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "bench/harness/child.h"

namespace plimsoll::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kAmount = "UNITS";
// Mixed statements, as sqlite3's own speed test has them: inserts, an index, joins by it, updates, sorting.
constexpr const char* kSqliteScript = R"(create table a(x integer primary key, y text, z real);
with recursive c(x) as (select 1 union all select x + 1 from c where x < UNITS * 10000)
insert into a select x, hex(x * 7919 % 100003), x * 0.5 from c;
create index i on a(y);
select count(*) from a join a as b on a.y = b.y where b.x % 3 = 0;
update a set z = z + 1, y = y || 'x' where x % 5 = 0;
select y, sum(z) from a group by substr(y, 1, 3) order by 2 limit 5;
delete from a where x % 7 = 0;)";

std::string with_amount(std::string text, uint64_t units) {
  for (size_t at = text.find(kAmount); at != std::string::npos; at = text.find(kAmount, at)) {
    text.replace(at, kAmount.size(), fmt::format("{}", units));
  }
  return text;
}

// env(1) sets the variables, so that they are not those of the wrapper, nor of this program.
std::vector<std::string> whole_command(const Variant& variant, const std::vector<std::string>& command,
                                       uint64_t units) {
  std::vector<std::string> argv = variant.wrapper;
  argv.emplace_back("/usr/bin/env");
  argv.insert(argv.end(), variant.variables.begin(), variant.variables.end());
  for (const std::string& argument : command) {
    argv.push_back(with_amount(argument, units));
  }
  return argv;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Workload::Found Workload::all(const ScratchFolder& folder) {
  Found found;
  const std::string load = sibling_program("appprof_bench_load");
  found.workloads.push_back({"allocations", {load, "allocations", "UNITS"}});
  found.workloads.push_back({"locks", {load, "locks", "UNITS"}});
  found.workloads.push_back({"plain_mutex", {load, "plain_mutex", "UNITS"}});
  found.workloads.push_back({"conditions", {load, "conditions", "UNITS"}});
  if (const std::string sqlite = find_program("sqlite3"); sqlite.empty()) {
    found.skipped.emplace_back("sqlite3: not installed");
  } else {
    found.workloads.push_back({"sqlite3", {sqlite, ":memory:", kSqliteScript}});
  }
  const std::string server = find_program("redis-server");
  if (server.empty() || find_program("redis-benchmark").empty()) {
    found.skipped.emplace_back("redis: not installed (scripts/install.sh --bench unpacks it)");
  } else {
    const std::string socket = folder / "redis.sock";
    std::vector<std::string> command;
    if (const std::string libraries = unpacked_libraries(); !libraries.empty()) {
      command.push_back(libraries);  // for env(1)
    }
    for (const std::string& argument :
         {server, std::string("--port"), std::string("0"), std::string("--unixsocket"), socket,
          std::string("--save"), std::string(), std::string("--dir"), folder / "."}) {
      command.push_back(argument);
    }
    found.workloads.push_back({"redis", std::move(command), socket});
  }
  return found;
}

Status Workload::calibrate(double wall_s, const Variant& variant) {
  constexpr double kLongEnough = 0.2;  // seconds: starting up counts for little
  for (units_ = 1;; units_ *= 4) {
    const auto took_s = run(variant);
    if (!took_s) {
      return propagate(took_s);
    }
    if (*took_s >= kLongEnough) {
      const double units = static_cast<double>(units_) * wall_s / *took_s;
      units_ = std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(units)));
      return {};
    }
  }
}

Result<double> Workload::run(const Variant& variant, uint64_t part) const {
  const uint64_t units = std::max<uint64_t>(1, units_ / part);
  if (!socket_.empty()) {
    return run_server(variant, units);
  }
  const auto begin = Clock::now();
  const auto done = run_to_end(whole_command(variant, command_, units));
  return done ? Result<double>(seconds_since(begin)) : propagate(done, "{} with {}", name_, variant.name);
}

Result<double> Workload::run_server(const Variant& variant, uint64_t units) const {
  ::unlink(socket_.c_str());
  const auto server = Child::start(whole_command(variant, command_, units));
  if (!server) {
    return propagate(server);
  }
  constexpr int kMaxTries = 3000;
  for (int tries = 0; ::access(socket_.c_str(), F_OK) != 0; ++tries) {
    if (tries == kMaxTries) {
      return fail(ErrorCode::kUnavailable, "redis-server with {} does not listen on {}", variant.name,
                  socket_);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::vector<std::string> client{"/usr/bin/env"};
  if (const std::string libraries = unpacked_libraries(); !libraries.empty()) {
    client.push_back(libraries);
  }
  for (const std::string& argument :
       {find_program("redis-benchmark"), std::string("-s"), socket_, std::string("-q"), std::string("-d"),
        std::string("64"), std::string("-r"), std::string("100000"), std::string("-t"),
        std::string("set,get,lpush,lpop,sadd,hset"), std::string("-n"), fmt::format("{}", units * 500)}) {
    client.push_back(argument);
  }
  const auto begin = Clock::now();
  const auto done = run_to_end(client);
  return done ? Result<double>(seconds_since(begin))
              : propagate(done, "redis-benchmark with {}", variant.name);
}

}  // namespace plimsoll::bench
