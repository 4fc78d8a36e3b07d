#include "bench/fdo/exact_counts.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>
#include <utility>

#include "bench/harness/child.h"

namespace plimsoll::bench {
namespace {

std::vector<std::string> with(std::vector<std::string> before, const std::vector<std::string>& argv) {
  before.insert(before.end(), argv.begin(), argv.end());
  return before;
}

Result<std::ifstream> open_text(const std::string& path) {
  std::ifstream in(path);
  if (!in) {
    return fail(ErrorCode::kIo, "reading {}", path);
  }
  return in;
}

// A number, and what follows it and the spaces behind; 0 where there is none.
uint64_t take_number(std::string_view& text, int base) {
  uint64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number, base);
  text.remove_prefix(static_cast<size_t>(end.ptr - text.data()));
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return number;
}

}  // namespace

Result<CountByAddress> exact_counts(const std::vector<std::string>& argv, const std::string& folder) {
  const std::string path = folder + "/callgrind.out";
  const auto run = run_to_end(with({"valgrind", "--tool=callgrind", "--dump-instr=yes", "--compress-pos=no",
                                    "--compress-strings=no", "--callgrind-out-file=" + path},
                                   argv),
                              folder + "/callgrind.log");
  if (!run) {
    return propagate(run, "counting instructions with callgrind");
  }
  auto in = open_text(path);
  if (!in) {
    return propagate(in);
  }
  CountByAddress counts;
  bool is_inclusive = false;  // the line after "calls=" is what the callee took
  for (std::string line; std::getline(*in, line);) {
    if (!line.starts_with("0x")) {
      is_inclusive = line.starts_with("calls=");
      continue;
    }
    if (!std::exchange(is_inclusive, false)) {
      std::string_view rest = std::string_view(line).substr(2);
      const uint64_t address = take_number(rest, 16);
      take_number(rest, 10);
      counts[address] += static_cast<double>(take_number(rest, 10));
    }
  }
  return counts;
}

Result<CountByAddress> sampled_counts(const std::vector<std::string>& argv, const std::string& folder) {
  const std::string data = folder + "/perf.data";
  const std::string text = folder + "/perf.txt";
  auto run =
      run_to_end(with({"perf", "record", "-q", "-e", "cpu-clock:u", "-F", "4999", "-o", data, "--"}, argv),
                 folder + "/perf.log");
  run = run ? run_to_end({"perf", "script", "-i", data, "-F", "ip"}, text) : run;
  if (!run) {
    return propagate(run, "sampling with perf");
  }
  auto in = open_text(text);
  if (!in) {
    return propagate(in);
  }
  CountByAddress counts;
  for (std::string line; std::getline(*in, line);) {
    std::string_view rest = line;
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    if (const uint64_t address = take_number(rest, 16); address != 0) {
      counts[address] += 1;
    }
  }
  return counts;
}

}  // namespace plimsoll::bench
