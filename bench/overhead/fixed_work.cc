#include "bench/overhead/fixed_work.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <random>

#include "bench/harness/child.h"

namespace plimsoll::bench {
namespace {

constexpr std::string_view kUnits = "UNITS";

// A unit of each takes some tens of milliseconds.
constexpr const char* kPython = R"(exec /usr/bin/python3 -c '
import json
for unit in range(UNITS):
  for i in range(4):
    json.loads(json.dumps([{"a": i, "b": [str(j) for j in range(5)]} for i in range(1000)]))
  sorted((str(i * 7919 % 1000) for i in range(6000)), key=lambda s: s[::-1])
')";
constexpr const char* kSqlite = R"(exec /usr/bin/sqlite3 :memory: '
with recursive c(x) as (select 1 union all select x + 1 from c where x < UNITS * 100000)
select count(*), sum(x * x % 7), group_concat(case when x % 100000 = 0 then hex(x) end) from c;')";
constexpr const char* kPerl = R"(exec /usr/bin/perl -e '
for my $unit (1..UNITS) {
  my %h;
  for my $i (1..40000) { my $k = "k" . ($i * 7919 % 5003); $h{$k} .= "x" if $k =~ /^k(\d+)3$/; }
  my @s = sort { $h{$a} cmp $h{$b} } keys %h;
}')";

// `command` UNITS times.
std::string repeated(const std::string& command) {
  return "i=0; while [ $i -lt UNITS ]; do " + command + " || exit 1; i=$((i+1)); done";
}

// Templates keep a compiler busy.
Status write_source(const std::string& path) {
  std::ofstream source(path);
  source << "#include <algorithm>\n#include <map>\n#include <string>\n#include <vector>\n";
  for (int i = 0; i < 4; ++i) {
    source << fmt::format(
        "struct T{0} {{ std::map<int, std::vector<std::string>> m; int f(int x) {{ auto& v = m[x]; "
        "v.push_back(std::to_string({0} + x)); std::sort(v.begin(), v.end()); return int(v.size()); }} }};\n"
        "int g{0}(int x) {{ return T{0}().f(x); }}\n",
        i);
  }
  source.close();
  return source ? Status() : fail(ErrorCode::kIo, "writing {}", path);
}

// 2 MB that compress about as text does.
Status write_text(const std::string& path) {
  std::ofstream text(path);
  std::mt19937_64 random(1);
  for (int word = 0; word < 300'000; ++word) {
    // Few words are frequent, as in any language.
    const double rank = std::exp(std::generate_canonical<double, 53>(random) * 9);
    text << fmt::format("w{:x}{}", static_cast<uint64_t>(rank) * 2654435761U % 0xffffff,
                        word % 11 == 0 ? "\n" : " ");
  }
  text.close();
  return text ? Status() : fail(ErrorCode::kIo, "writing {}", path);
}

std::string with_units(const std::string& script, uint64_t units) {
  std::string text = script;
  for (size_t at = text.find(kUnits); at != std::string::npos; at = text.find(kUnits, at)) {
    text.replace(at, kUnits.size(), fmt::format("{}", units));
  }
  return text;
}

}  // namespace

Result<std::vector<FixedWork>> FixedWork::all(const ScratchFolder& folder) {
  const std::string source = folder / "source.cc";
  const std::string text = folder / "text";
  for (const Status& written : {write_source(source), write_text(text)}) {
    if (!written) {
      return propagate(written);
    }
  }
  std::vector<FixedWork> works;
  works.push_back({"python3", kPython});
  works.push_back({"sqlite3", kSqlite});
  works.push_back({"perl", kPerl});
  works.push_back({"g++", repeated("/usr/bin/g++ -O1 -c " + source + " -o /dev/null")});
  works.push_back({"gzip", repeated("/usr/bin/gzip -c " + text)});
  works.push_back({"zstd", repeated("/usr/bin/zstd -q -c -10 " + text)});
  return works;
}

Status FixedWork::calibrate(double wall_s) {
  constexpr double kLongEnough = 0.2;  // seconds: starting up counts for little
  for (units_ = 1;; units_ *= 4) {
    const auto effort = run();
    if (!effort) {
      return propagate(effort);
    }
    if (effort->wall_s >= kLongEnough) {
      units_ = std::max<uint64_t>(
          1, static_cast<uint64_t>(std::llround(static_cast<double>(units_) * wall_s / effort->wall_s)));
      return {};
    }
  }
}

Result<Effort> FixedWork::run() const {
  using Clock = std::chrono::steady_clock;
  const std::string script = with_units(script_, units_);
  std::vector<Child> copies;
  const auto start = Clock::now();
  for (long i = ::sysconf(_SC_NPROCESSORS_ONLN); i > 0; --i) {
    auto copy = Child::start({"/bin/sh", "-c", script});
    if (!copy) {
      return propagate(copy);
    }
    copies.push_back(std::move(*copy));
  }
  Effort effort;
  for (Child& copy : copies) {
    const auto usage = copy.wait();
    if (!usage) {
      return propagate(usage, "running {}", name_);
    }
    effort.cpu_s += usage->cpu_s;
  }
  effort.wall_s = std::chrono::duration<double>(Clock::now() - start).count();
  return effort;
}

}  // namespace plimsoll::bench
