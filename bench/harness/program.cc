#include "bench/harness/program.h"

#include <algorithm>
#include <iostream>

namespace plimsoll::bench {
namespace {

std::string help(std::string_view program, std::string_view purpose, std::span<const Part> parts) {
  std::string text = fmt::format(
      "{}\n\nUsage: {} [--quick | --full] [--json] [--only PART] [--dir DIR]\n\n"
      "  --quick      All within 30 s: shorter and fewer runs, wider noise\n"
      "  --full       Also what takes many minutes\n"
      "  --json       A line for each measurement: name, value, unit, peer, peer_value, ratio (above 1: "
      "better)\n"
      "  --only PART  One of the parts below\n"
      "  --dir DIR    Keeps there what takes long to make, and measures what is there the next time\n"
      "  --help       This text\n\nParts:\n",
      purpose, program);
  for (const Part& part : parts) {
    text += fmt::format("  {:18} {}\n", part.name, part.what);
  }
  return text;
}

Result<Flags> parse_flags(std::span<char*> arguments, std::span<const Part> parts) {
  Flags flags;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--quick") {
      flags.quick = true;
    } else if (argument == "--full") {
      flags.full = true;
    } else if (argument == "--json") {
      flags.as_json = true;
    } else if (argument == "--only" && i + 1 < arguments.size()) {
      flags.only = arguments[++i];
      if (std::ranges::find(parts, flags.only, &Part::name) == parts.end()) {
        return with_field(fail(ErrorCode::kInvalid, "there is no part \"{}\"", flags.only), "--only");
      }
    } else if (argument == "--dir" && i + 1 < arguments.size()) {
      flags.directory = arguments[++i];
    } else {
      return fail(ErrorCode::kInvalid, "cannot make sense of \"{}\"", argument);
    }
  }
  return flags;
}

}  // namespace

int run_program(std::string_view purpose, std::span<const Part> parts, int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<size_t>(argc));
  const std::string_view path = arguments.empty() ? "" : std::string_view(arguments[0]);
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (std::ranges::find(arguments, std::string_view("--help")) != arguments.end()) {
    std::cout << help(name, purpose, parts);
    return 0;
  }
  const auto flags = parse_flags(arguments.subspan(std::min<size_t>(1, arguments.size())), parts);
  if (!flags) {
    std::cerr << name << ": " << flags.error().text() << " (see --help)\n";
    return 2;
  }
  Report report(std::cout, flags->as_json);
  int status = 0;
  for (const Part& part : parts) {
    if (!flags->only.empty() && part.name != flags->only) {
      continue;
    }
    if (const Status measured = part.measure(*flags, report); !measured) {
      std::cerr << name << ": " << part.name << ": " << measured.error().text() << "\n";
      status = 1;
    }
  }
  if (report.skipped() > 0) {
    std::cerr << name << ": skipped: " << report.skipped() << "\n";
  }
  return status;
}

}  // namespace plimsoll::bench
