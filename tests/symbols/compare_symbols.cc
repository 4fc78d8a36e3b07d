// Compares our chains of a binary's random addresses with llvm-symbolizer-19's, and prints how well they agree:
//
//   compare_symbols [--name NAME] [--addresses N] [--seed N] [--debug FILE] [--supplement FILE] [--package FILE] [--ask FILE]
//       BINARY
//
// --name is what to call the binary, --ask names the file that llvm-symbolizer is asked about instead. The exit status is 0 only where at least 99.9 % agree.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "tests/symbols/comparison.h"

namespace {

using plimsoll::testing::AskedFiles;

constexpr double kMinShare = 0.999;

// By name of the option, "" for the binary.
using Options = std::map<std::string, std::string, std::less<>>;

Options options_of(std::span<char*> arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument.starts_with("--") && i + 1 < arguments.size()) {
      options[std::string(argument.substr(2))] = arguments[++i];
    } else {
      options[""] = argument;
    }
  }
  return options;
}

uint64_t number_or(const Options& options, std::string_view name, uint64_t otherwise) {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : std::strtoull(found->second.c_str(), nullptr, 10);
}

}  // namespace

int main(int argc, char** argv) {
  Options options = options_of(std::span(argv, static_cast<size_t>(argc)).subspan(1));
  const AskedFiles files{{.binary = options[""],
                          .debug = options["debug"],
                          .supplement = options["supplement"],
                          .package = options["package"]},
                         options["ask"]};
  const auto agreement = plimsoll::testing::compare_with_llvm(files, number_or(options, "addresses", 100'000),
                                                              number_or(options, "seed", 1));
  if (!agreement) {
    std::fprintf(stderr, "error: %s\n", agreement.error().text().c_str());
    return 2;
  }
  const std::string& name = options["name"].empty() ? options[""] : options["name"];
  std::printf("%s: %s\n%s", name.c_str(), agreement->summary().c_str(), agreement->details().c_str());
  return agreement->share() >= kMinShare ? 0 : 1;
}
