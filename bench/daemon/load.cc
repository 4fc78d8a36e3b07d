#include "bench/daemon/load.h"

#include <unistd.h>

#include <array>
#include <fstream>

namespace plimsoll::bench {
namespace {

constexpr const char* kPython = R"(import json
while True:
  json.loads(json.dumps([{'a': i, 'b': [str(j) for j in range(5)]} for i in range(500)]))
  sorted((str(i * 7919 % 1000) for i in range(3000)), key=lambda s: s[::-1])
)";
constexpr const char* kSqlite = R"(
with recursive c(x) as (select 1 union all select x + 1 from c where x < 2000000000)
select count(*), sum(x * x % 7), group_concat(case when x % 100000 = 0 then hex(x) end) from c;
)";
constexpr const char* kPerl = R"(my %h;
while (1) {
  for my $i (1..20000) { my $k = 'k' . ($i * 7919 % 5003); $h{$k} .= 'x' if $k =~ /^k(\d+)3$/; }
  my @s = sort { $h{$a} cmp $h{$b} } keys %h;
  %h = ();
}
)";

// Templates keep a compiler busy.
Status write_source(const std::string& path) {
  std::ofstream source(path);
  source << "#include <algorithm>\n#include <map>\n#include <regex>\n#include <string>\n#include <vector>\n";
  for (int i = 0; i < 60; ++i) {
    source << fmt::format(
        "struct T{0} {{ std::map<int, std::vector<std::string>> m; int f(int x) {{ auto& v = m[x]; "
        "v.push_back(std::to_string({0} + x)); std::sort(v.begin(), v.end()); return int(v.size()); }} }};\n"
        "int g{0}(int x) {{ return T{0}().f(x); }}\n",
        i);
  }
  source.close();
  return source ? Status() : fail(ErrorCode::kIo, "writing {}", path);
}

}  // namespace

Result<Load> Load::start(const ScratchFolder& folder) {
  const std::string source = folder / "source.cc";
  if (auto written = write_source(source); !written) {
    return propagate(written);
  }
  const std::array<std::vector<std::string>, 4> programs{{
      {"/usr/bin/python3", "-c", kPython},
      {"/usr/bin/sqlite3", ":memory:", kSqlite},
      {"/usr/bin/perl", "-e", kPerl},
      {"sh", "-c", "while /usr/bin/g++ -O2 -c " + source + " -o /dev/null; do :; done"},
  }};
  const auto cpus = static_cast<size_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  Load load;
  for (size_t i = 0; i < std::max(programs.size(), cpus); ++i) {
    auto child = Child::start(programs[i % programs.size()]);
    if (!child) {
      return propagate(child, "loading the machine");
    }
    load.programs_.push_back(std::move(*child));
  }
  return load;
}

}  // namespace plimsoll::bench
