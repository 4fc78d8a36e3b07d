// plimsolld: collects profiles of this machine, once into a file or continuously for a server.
#include <CLI/CLI.hpp>
#include <iostream>

#include "daemon/once.h"
#include "daemon/probe.h"

namespace plimsoll {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

int report(const Error& error) {
  std::cerr << "plimsolld: " << error.text() << "\n";
  return error.code == ErrorCode::kInvalid ? kExitUsage : kExitFailed;
}

int run(int argc, char** argv) {
  CLI::App app("Plimsoll's daemon: samples every CPU of this machine and hands on unsymbolized profiles.");
  app.footer(
      "Examples:\n"
      "  plimsolld --once 10 --output machine.profile          one profile of ten seconds\n"
      "  plimsolld --once 2 --output f --event page-faults:1   every page fault of two seconds\n"
      "  plimsolld probe                                       what this machine can measure\n"
      "Sampling a whole machine needs root, or CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and "
      "CAP_SYSLOG.");
  OnceOptions once;
  auto* once_flag =
      app.add_option("--once", once.seconds, "Collect one profile of SECONDS and exit")->type_name("SECONDS");
  app.add_option("--output", once.output, "File for the profile of --once")
      ->type_name("FILE")
      ->needs(once_flag);
  app.add_option("--rate", once.rate_hz, "Samples a second on each CPU (default 99)")
      ->type_name("HZ")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--event", once.events,
                 "Event to sample, NAME or NAME:PERIOD; may be repeated (default: cycles, or cpu-clock where "
                 "there are "
                 "no hardware counters)")
      ->type_name("EVENT");
  app.add_option("--ring-pages", once.ring_pages,
                 "Pages of each CPU's sample buffer, a power of two (default 64)")
      ->check(CLI::Range(1, 1 << 16));
  app.add_option("--machine-id", once.machine.id,
                 "Name of this machine (default: derived from /etc/machine-id)");

  bool probe_as_json = false;
  auto* probe_command = app.add_subcommand("probe", "Say what this machine can and cannot measure, and why");
  probe_command->add_flag("--json", probe_as_json, "As a JSON document");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  if (*probe_command) {
    const auto findings = probe();
    std::cout << (probe_as_json ? probe_json(findings) : probe_table(findings));
    return 0;
  }
  if (!*once_flag) {
    std::cerr << "plimsolld: say what to do: --once SECONDS --output FILE, or probe (see --help)\n";
    return kExitUsage;
  }
  if (once.output.empty()) {
    std::cerr << "plimsolld: --once needs --output FILE\n";
    return kExitUsage;
  }
  const Status done = collect_once(once);
  return done ? 0 : report(done.error());
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  return plimsoll::run(argc, argv);
}
