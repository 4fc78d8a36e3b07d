// plimsolld: collects profiles of this machine, once into a file or continuously for a server.
#include <CLI/CLI.hpp>
#include <iostream>

#include "base/log.h"
#include "config/daemon_config.h"
#include "daemon/agent.h"
#include "daemon/once.h"
#include "daemon/probe.h"
#include "daemon/scrape/scrape_once.h"

namespace plimsoll {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

int report(const Error& error) {
  std::cerr << "plimsolld: " << error.text() << "\n";
  return error.code == ErrorCode::kInvalid ? kExitUsage : kExitFailed;
}

struct AgentFlags {
  std::string server;
  std::string config_path;
  std::string machine_id;
};

Status run_agent(const AgentFlags& flags) {
  config::LoadInputs inputs;
  if (!flags.config_path.empty()) {
    inputs.path = flags.config_path;
  }
  if (!flags.server.empty()) {
    inputs.flags.emplace_back("daemon.server", flags.server);
  }
  if (!flags.machine_id.empty()) {
    inputs.flags.emplace_back("machine.id", flags.machine_id);
  }
  const auto loaded = config::load_daemon_config(inputs);
  if (!loaded) {
    return propagate(loaded, "reading the configuration");
  }
  // Before any thread is made: they inherit the blocked signals.
  const auto stop = StopSignal::install();
  if (!stop) {
    return propagate(stop);
  }
  auto machine = identity::read_machine(
      {.id = loaded->machine_id, .datacenter = loaded->datacenter, .cluster = loaded->cluster});
  if (!machine) {
    return propagate(machine);
  }
  log_info("sending to {}", loaded->server);
  Agent agent(*loaded, std::move(*machine));
  return agent.run(*stop);
}

int run(int argc, char** argv) {
  CLI::App app("Plimsoll's daemon: samples every CPU of this machine and hands on unsymbolized profiles.");
  app.footer(
      "Examples:\n"
      "  plimsolld --once 10 --output machine.profile          one profile of ten seconds\n"
      "  plimsolld --once 2 --output f --event page-faults:1   every page fault of two seconds\n"
      "  plimsolld --once 10 --output f --event-set cycles,instructions --event-set llc-misses    in turns\n"
      "  plimsolld --once 10 --output f --rate 999 --stack-rate 99    one stack in ten samples\n"
      "  plimsolld --scrape http://127.0.0.1:8080/pprof/heap --output f    the heap of a program\n"
      "  plimsolld --server 127.0.0.1:7071                     for good, as the server assigns\n"
      "  plimsolld probe                                       what this machine can measure\n"
      "Sampling a whole machine needs root, or CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and "
      "CAP_SYSLOG.");
  OnceOptions once;
  auto* once_flag =
      app.add_option("--once", once.seconds, "Collect one profile of SECONDS and exit")->type_name("SECONDS");
  app.add_option("--output", once.output, "File for the profile of --once or --scrape")->type_name("FILE");
  scrape::ScrapeOnceOptions scrape;
  auto* scrape_flag =
      app.add_option("--scrape", scrape.url, "Fetch one heap or lock profile of an application and exit")
          ->type_name("URL")
          ->excludes(once_flag);
  app.add_flag("--beyond-loopback", scrape.beyond_loopback, "Permit --scrape of another machine")
      ->needs(scrape_flag);
  app.add_option("--rate", once.rate_hz, "Samples a second on each CPU (default 99)")
      ->type_name("HZ")
      ->check(CLI::Range(1, 10'000))
      ->needs(once_flag);
  app.add_option(
         "--event", once.events,
         "Event to sample, NAME or NAME:PERIOD; may be repeated. NAME is a generic event (cycles, "
         "LLC-load-misses, page-faults), PMU/TERMS/, rHEX, SYSTEM:TRACEPOINT or an alias (uops-retired); "
         "\"plimsolld probe\" lists them (default: cycles and instructions, or cpu-clock where there are no "
         "hardware counters)")
      ->type_name("EVENT")
      ->needs(once_flag);
  app.add_option("--event-set", once.event_sets,
                 "Events to sample at once, separated by commas; sets (and the events of --event) take "
                 "turns, and each "
                 "event is scaled to the whole time")
      ->type_name("EVENT,...")
      ->needs(once_flag);
  app.add_option("--turn", once.turn_seconds,
                 "Seconds of a set's turn (default 1, at most a quarter of its share of the time)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0))
      ->needs(once_flag);
  app.add_option("--ring-pages", once.ring_pages,
                 "Pages of each CPU's sample buffer, a power of two (default: enough for half a second)")
      ->check(CLI::Range(1, 1 << 16));
  app.add_option("--stack-bytes", once.stack_bytes,
                 "Bytes of the user stack captured with a sample, to be unwound here (default 16384)")
      ->type_name("BYTES")
      ->check(CLI::Range(8, 65'536))
      ->needs(once_flag);
  app.add_option(
         "--stack-rate", once.stack_rate_hz,
         "Samples a second on each CPU that come with their stack; the others, which cost a fraction, say "
         "only where the program was (default: all of --rate)")
      ->type_name("HZ")
      ->check(CLI::Range(1, 10'000))
      ->needs(once_flag);
  AgentFlags agent_flags;
  auto* server_flag =
      app.add_option("--server", agent_flags.server, "Server to register with and send profiles to")
          ->type_name("ADDR")
          ->excludes(once_flag)
          ->excludes(scrape_flag);
  auto* config_flag =
      app.add_option("--config", agent_flags.config_path, "Configuration (see config/daemon.example.toml)")
          ->type_name("FILE")
          ->excludes(once_flag)
          ->excludes(scrape_flag);
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
  if (*server_flag || *config_flag) {
    agent_flags.machine_id = once.machine.id;
    const Status done = run_agent(agent_flags);
    return done ? 0 : report(done.error());
  }
  if (!*once_flag && !*scrape_flag) {
    std::cerr
        << "plimsolld: say what to do: --server ADDR, --once SECONDS --output FILE, --scrape URL --output "
           "FILE, or probe (see --help)\n";
    return kExitUsage;
  }
  if (once.output.empty()) {
    std::cerr << "plimsolld: " << (*scrape_flag ? "--scrape" : "--once") << " needs --output FILE\n";
    return kExitUsage;
  }
  if (*scrape_flag) {
    scrape.output = once.output;
    scrape.machine = once.machine;
    const Status done = scrape::scrape_once(scrape);
    return done ? 0 : report(done.error());
  }
  const Status done = collect_once(once);
  return done ? 0 : report(done.error());
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  return plimsoll::run(argc, argv);
}
