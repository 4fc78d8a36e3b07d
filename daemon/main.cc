// plimsolld: collects profiles of this machine, once into a file or continuously for a server.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "base/printable.h"
#include "cli/usage/usage_text.h"
#include "config/daemon_config.h"
#include "config/variables.h"
#include "daemon/bursts/burst_clock.h"
#include "daemon/bursts/record_bursts.h"
#include "daemon/memory.h"
#include "daemon/once.h"
#include "daemon/privileges/confinement.h"
#include "daemon/probe.h"
#include "daemon/run_service.h"
#include "daemon/scrape/scrape_once.h"
#include "proto/protobuf_log.h"

namespace plimsoll {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

constexpr const char* kFooter =
    R"(Examples:
  plimsolld --once 10 --output machine.profile          one profile of ten seconds
  plimsolld --once 2 --output f --event page-faults:1   every page fault of two seconds
  plimsolld --once 10 --output f --event-set cycles,instructions --event-set llc-misses    in turns
  plimsolld --once 10 --output f --rate 999 --stack-rate 99    one stack in ten samples
  plimsolld --scrape http://127.0.0.1:8080/pprof/heap --output f    the heap of a program
  plimsolld --server 127.0.0.1:7071                     run as a service, collect what the server assigns
  plimsolld probe                                       what this machine can measure
  plimsolld bursts record --config 7,8 --output f       all switches, wake-ups and marks of the next burst
Sampling a whole machine needs root, or CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and CAP_SYSLOG.)";

// Which modes were asked for is known by their options and subcommands.
struct CommandLine {
  CLI::App app{
      "Plimsoll's daemon: samples all CPUs of this machine and sends unsymbolized profiles to the server."};
  std::string output;
  std::string user;
  bool no_seccomp = false;
  std::string machine_id;
  std::string state_dir;

  OnceOptions once;
  CLI::Option* once_option = nullptr;

  scrape::ScrapeOnceOptions scrape;
  CLI::Option* scrape_option = nullptr;

  std::string server;
  std::string config_path;
  CLI::Option* server_option = nullptr;
  CLI::Option* config_option = nullptr;

  CLI::App* probe_command = nullptr;
  bool probe_as_json = false;

  bursts::RecordBurstsOptions bursts;
  CLI::App* bursts_command = nullptr;
};

int report(const Error& error) {
  std::cerr << "plimsolld: " << error.text() << "\n";
  return error.code == ErrorCode::kInvalid ? kExitUsage : kExitFailed;
}

int finish(const Status& done) {
  return done ? 0 : report(done.error());
}

void add_common_options(CommandLine& line) {
  line.app.footer(kFooter);
  line.app.add_option("--output", line.output, "File for the profile of --once or --scrape")
      ->type_name("FILE");
  line.app.add_option("--machine-id", line.machine_id, "Machine ID (default: derived from /etc/machine-id)");
  line.app
      .add_option("--user", line.user,
                  "User to switch to, by name or number, when started by root; keeps the capabilities needed")
      ->type_name("USER");
  line.app.add_flag("--no-seccomp", line.no_seccomp,
                    "Run without the system call filter (kernels without seccomp)");
}

ConfinementOptions confinement_of(const CommandLine& line) {
  return {.user = line.user, .filter_system_calls = !line.no_seccomp};
}

void add_once_options(CommandLine& line) {
  OnceOptions& once = line.once;
  line.once_option = line.app.add_option("--once", once.seconds, "Collect one profile of SECONDS and exit")
                         ->type_name("SECONDS");
  line.app.add_option("--rate", once.rate_hz, "Samples per second and CPU (default 99)")
      ->type_name("HZ")
      ->check(CLI::Range(1, 10'000))
      ->needs(line.once_option);
  line.app
      .add_option(
          "--event", once.events,
          "Event to sample, NAME or NAME:PERIOD; may be repeated. NAME is a generic event (cycles, "
          "LLC-load-misses, page-faults), PMU/TERMS/, rHEX, SYSTEM:TRACEPOINT or an alias (uops-retired); "
          "\"plimsolld probe\" lists them (default: cycles and instructions, or cpu-clock where there are no "
          "hardware counters)")
      ->type_name("EVENT")
      ->needs(line.once_option);
  line.app
      .add_option("--event-set", once.event_sets,
                  "Events to sample at once, separated by commas; sets (and the events of --event) take "
                  "turns, and each event is scaled to the whole time")
      ->type_name("EVENT,...")
      ->needs(line.once_option);
  line.app
      .add_option("--turn", once.turn_seconds,
                  "Seconds of a set's turn (default 1, at most a quarter of its share of the time)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0))
      ->needs(line.once_option);
  line.app
      .add_option("--ring-pages", once.ring_pages,
                  "Pages of the sample buffer per CPU, a power of two (default: enough for half a second)")
      ->check(CLI::Range(1, 1 << 16));
  line.app
      .add_option("--stack-bytes", once.stack_bytes,
                  "Bytes of the user stack captured per sample, for unwinding (default 16384)")
      ->type_name("BYTES")
      ->check(CLI::Range(8, 65'536))
      ->needs(line.once_option);
  line.app
      .add_option("--stack-rate", once.stack_rate_hz,
                  "Samples per second and CPU with a stack; the others cost a fraction and have the "
                  "instruction address only (default: --rate)")
      ->type_name("HZ")
      ->check(CLI::Range(1, 10'000))
      ->needs(line.once_option);
  line.app
      .add_option(
          "--branch-rate", once.branch_rate_hz,
          "Recordings of the branches of user code per second and CPU, for compiler profiles, where the "
          "machine has them: see \"plimsolld probe\" (default: none)")
      ->type_name("HZ")
      ->check(CLI::Range(1, 10'000))
      ->needs(line.once_option);
}

void add_count_options(CommandLine& line) {
  config::CountSettings& count = line.once.count;
  CLI::Option* const groups =
      line.app
          .add_option("--count-group", count.groups,
                      "Control groups whose events are also counted exactly: a regular expression for a part "
                      "of the path; may be repeated, earlier ones have precedence")
          ->type_name("REGEX")
          ->needs(line.once_option);
  line.app
      .add_option("--count-event", count.events,
                  "Event to count for these groups, as \"exact-NAME\"; may be repeated (default: cycles and "
                  "instructions)")
      ->type_name("NAME")
      ->needs(groups);
  line.app
      .add_option("--count-fds", count.max_fds,
                  "Maximum file descriptors for these counters, groups x events x CPUs (default 512)")
      ->check(CLI::Range(1, 100'000))
      ->needs(groups);
}

void add_scrape_options(CommandLine& line) {
  line.scrape_option = line.app
                           .add_option("--scrape", line.scrape.url,
                                       "Fetch one heap or lock profile of an application and exit")
                           ->type_name("URL")
                           ->excludes(line.once_option);
  line.app.add_flag("--beyond-loopback", line.scrape.beyond_loopback, "Permit --scrape of another machine")
      ->needs(line.scrape_option);
}

void add_service_options(CommandLine& line) {
  line.server_option =
      line.app.add_option("--server", line.server, "Server to register with and send profiles to")
          ->type_name("ADDR")
          ->excludes(line.once_option)
          ->excludes(line.scrape_option);
  line.config_option =
      line.app
          .add_option("--config", line.config_path,
                      "Configuration file (see config/daemon.example.toml); SIGHUP reads it again")
          ->type_name("FILE")
          ->excludes(line.once_option)
          ->excludes(line.scrape_option);
  line.app
      .add_option("--state-dir", line.state_dir,
                  "Folder of the daemon: its token and unsent profiles (default: /var/lib/plimsoll)")
      ->type_name("DIR")
      ->excludes(line.once_option)
      ->excludes(line.scrape_option);
}

void add_probe_command(CommandLine& line) {
  line.probe_command =
      line.app.add_subcommand("probe", "Show what this machine can and cannot measure, and why");
  line.probe_command->add_flag("--json", line.probe_as_json, "Print a JSON document");
}

void add_bursts_command(CommandLine& line) {
  bursts::RecordBurstsOptions& bursts = line.bursts;
  line.bursts_command = line.app.add_subcommand("bursts", "Record bursts into a file: record");
  line.bursts_command->require_subcommand(1);
  auto* record = line.bursts_command->add_subcommand(
      "record", "Record which thread ran when, who woke it, and marks of requests, during bursts");
  record->add_option("--config", bursts.config, "When bursts are (see plimsoll bursts plan)")
      ->type_name("M,N")
      ->required();
  record->add_option("--output", bursts.output, "File for the recording")->type_name("FILE")->required();
  record->add_option("--bursts", bursts.bursts, "Bursts to record (default 1)")
      ->type_name("COUNT")
      ->check(CLI::Range(1, 100'000));
  record->add_flag("--system-calls", bursts.recorder.with_system_calls,
                   "Also record begin and end of all system calls, without their arguments");
  record->add_flag("--page-faults", bursts.recorder.with_page_faults, "Also record page faults");
  record->add_flag("--disk", bursts.recorder.with_disk, "Also record begin and end of requests of disks");
  record->add_flag("--network", bursts.recorder.with_network, "Also record packets, their sizes alone");
  constexpr int kMaxSamplesHz = 10'000;
  record
      ->add_option(
          "--samples", bursts.recorder.samples_hz,
          "Also record where threads run, with stacks by frame pointers: samples a second of each CPU "
          "(default: none)")
      ->type_name("HZ")
      ->check(CLI::Range(1, kMaxSamplesHz));
  record
      ->add_option("--applications", bursts.announcements,
                   "Also record what applications tell of, which announce themselves in FOLDER")
      ->type_name("FOLDER");
  record->footer(R"(Arguments of system calls are not recorded, except those of marks. See docs/bursts.md.

Example:
  plimsolld bursts record --config 3,9 --output machine.bursts     the next 512 ms of every 4.096 s)");
}

Status run_bursts(CommandLine& line) {
  line.bursts.clock = bursts::read_clock_state();
  if (auto confined = confine(confinement_of(line)); !confined) {
    return confined;
  }
  line.bursts.machine.id = line.machine_id;
  return bursts::record_bursts(line.bursts);
}

Status run_probe(const CommandLine& line) {
  if (auto confined = confine(confinement_of(line)); !confined) {
    return confined;
  }
  const auto findings = probe();
  std::cout << (line.probe_as_json ? probe_json(findings) : probe_table(findings));
  return {};
}

config::LoadInputs service_inputs(const CommandLine& line) {
  config::LoadInputs inputs;
  if (!line.config_path.empty()) {
    inputs.path = line.config_path;
  }
  for (const auto& [key, value] :
       {std::pair("daemon.server", line.server), std::pair("daemon.user", line.user),
        std::pair("daemon.state_dir", line.state_dir), std::pair("machine.id", line.machine_id),
        std::pair("daemon.seccomp", std::string(line.no_seccomp ? "false" : ""))}) {
    if (!value.empty()) {
      inputs.flags.emplace_back(key, value);
    }
  }
  return inputs;
}

Status run_for_good(const CommandLine& line) {
  const config::LoadInputs inputs = service_inputs(line);
  auto config = config::load_daemon_config(inputs);
  if (!config) {
    return propagate(config, "reading the configuration");
  }
  if (auto confined = confine({.user = config->user, .filter_system_calls = config->seccomp}); !confined) {
    return confined;
  }
  return run_service(std::move(*config), inputs);
}

Status write_profile(CommandLine& line) {
  if (auto confined = confine(confinement_of(line)); !confined) {
    return confined;
  }
  if (*line.scrape_option) {
    line.scrape.output = line.output;
    line.scrape.machine.id = line.machine_id;
    return scrape::scrape_once(line.scrape);
  }
  line.once.output = line.output;
  line.once.machine.id = line.machine_id;
  return collect_once(line.once);
}

int usage(std::string_view what) {
  std::cerr << "plimsolld: " << printable_lines(what) << "\n";
  return kExitUsage;
}

int dispatch(CommandLine& line) {
  if (const Status known = config::check_variables(environ); !known) {
    return report(known.error());
  }
  if (*line.probe_command) {
    return finish(run_probe(line));
  }
  if (*line.bursts_command) {
    return finish(run_bursts(line));
  }
  if (*line.server_option || *line.config_option) {
    return finish(run_for_good(line));
  }
  if (!*line.once_option && !*line.scrape_option) {
    return usage(
        "one of --server ADDR, --once SECONDS --output FILE, --scrape URL --output FILE or probe is required "
        "(see --help)");
  }
  if (line.output.empty()) {
    return usage(*line.scrape_option ? "--scrape requires --output FILE" : "--once requires --output FILE");
  }
  return finish(write_profile(line));
}

int run(int argc, char** argv) {
  CommandLine line;
  add_common_options(line);
  add_once_options(line);
  add_count_options(line);
  add_scrape_options(line);
  add_service_options(line);
  add_probe_command(line);
  add_bursts_command(line);
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return line.app.exit(error);
    }
    return usage(cli::usage_text(line.app, error, {argv + std::min(argc, 1), argv + argc}) +
                 "\nSee plimsolld --help.");
  }
  return dispatch(line);
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  plimsoll::return_freed_memory();
  plimsoll::wire::use_own_log();
  return plimsoll::run(argc, argv);
}
