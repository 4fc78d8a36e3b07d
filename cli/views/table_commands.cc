#include "cli/views/table_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>

#include "cli/views/flags.h"
#include "query/snapshot/dimension.h"

namespace plimsoll::cli {
namespace {

void add_by(CLI::App& command, query::Parameters& parameters) {
  add_parameter(command, "--by", "by", parameters, "Dimensions to group by (default: function)")
      ->type_name("DIM,...");
}

void add_limit(CLI::App& command, query::Parameters& parameters) {
  add_parameter(command, "--limit", "limit", parameters, "Rows to show (default 20)")->type_name("N");
}

void add_measure(CLI::App& command, const std::string& help, query::Parameters& parameters) {
  add_parameter(command, "--measure", "measure", parameters, help)->type_name("WHAT");
}

void add_top_flags(CLI::App& command, query::Parameters& parameters) {
  add_selection(command, parameters);
  add_parameter(
      command, "--ratio", "ratio", parameters,
      "Instead of one event, the ratio of two (instructions/cycles), or ipc, cpi, exact-ipc, exact-cpi")
      ->type_name("NUM/DEN");
  add_parameter(command, "--beside", "beside", parameters,
                "Another event beside --event, and over it, of profiles with both; may be repeated")
      ->type_name("EVENT");
  add_by(command, parameters);
  add_limit(command, parameters);
  add_no_margins(command, parameters);
}

std::string top_footer() {
  std::string help = "Dimensions (for --by and --where):\n";
  for (const query::Dimension& dimension : query::dimensions()) {
    help += fmt::format("  {:<14}{}\n", dimension.name, dimension.meaning);
  }
  return help +
         "Examples:\n"
         "  plimsoll top --data DIR                             the hot functions\n"
         "  plimsoll top --data DIR --by app                    by application\n"
         "  plimsoll top --data DIR --where app=gzip --by function,file\n"
         "  plimsoll top --data DIR --ratio ipc --by job        instructions per cycle, with its margin\n"
         "  plimsoll top --data DIR --event instructions --beside cache-misses --beside branch-misses\n"
         "  plimsoll top --server 127.0.0.1:7070 --since 1h --where 'function=~^sqlite3' --by binary "
         "--json\n";
}

void add_neighbour_flags(CLI::App& command, query::Parameters& parameters) {
  add_parameter(command, "function", "function", parameters,
                "The function's name, as top shows it, or ~REGEX for all whose names match")
      ->type_name("FUNCTION");
  add_parameter(command, "--of", "of", parameters,
                "In its place, a filter on frames, for all functions that it matches: binary=libz.so.1, "
                "function=~^sqlite3")
      ->type_name("PREDICATE");
  add_selection(command, parameters);
  add_limit(command, parameters);
  add_no_margins(command, parameters);
}

std::string neighbour_footer() {
  return "Shares are of all that the function and what it calls takes, and add up to it. Of a function that "
         "calls itself, callers are those of "
         "its\noutermost frame, callees those of its innermost.\n"
         "Examples:\n"
         "  plimsoll callers --data DIR '~^__memcpy'                 who has memory copied\n"
         "  plimsoll callees --data DIR parse --where job=search     what parsing spends its time in\n"
         "  plimsoll callers --data DIR --of binary=libz.so.1        who compresses\n";
}

// What tells two selections apart.
void add_sides(CLI::App& command, query::Parameters& parameters) {
  add_parameter(command, "--base-where", "base_where", parameters,
                "Filter of the base side alone; may be repeated")
      ->type_name("PREDICATE");
  add_parameter(command, "--new-where", "new_where", parameters,
                "Filter of the new side alone; may be repeated")
      ->type_name("PREDICATE");
  add_parameter(command, "--base-since", "base_since", parameters, "Start of the base side")
      ->type_name("TIME");
  add_parameter(command, "--base-until", "base_until", parameters, "End of the base side")->type_name("TIME");
  add_parameter(command, "--new-since", "new_since", parameters, "Start of the new side")->type_name("TIME");
  add_parameter(command, "--new-until", "new_until", parameters, "End of the new side")->type_name("TIME");
  add_parameter(command, "--earlier", "earlier", parameters,
                "The base is the same so much earlier (with --since)")
      ->type_name("DURATION");
}

void add_diff_flags(CLI::App& command, query::Parameters& parameters) {
  add_event(command, parameters);
  add_filters(command, parameters);
  add_sides(command, parameters);
  add_measure(command, "What is compared: share (default), or rate: per machine and second", parameters);
  add_by(command, parameters);
  add_limit(command, parameters);
  add_parameter(command, "--among", "among", parameters,
                "Rows that are looked at, the largest of both sides together (default 100); of fewer, "
                "smaller changes are told from chance")
      ->type_name("N");
  add_no_margins(command, parameters);
}

std::string diff_footer() {
  return "Examples:\n"
         "  plimsoll diff --data DIR --since 1h --earlier 1d                        the last hour and the "
         "same "
         "a day before\n"
         "  plimsoll diff --data DIR --base-where revision=41 --new-where revision=42 --where job=search\n"
         "  plimsoll diff --data DIR --base-until 2026-11-21T12:00:00Z --new-since 2026-11-21T12:00:00Z "
         "--measure rate\n";
}

void add_compare_flags(CLI::App& command, query::Parameters& parameters) {
  add_parameter(
      command, "--ratio", "ratio", parameters,
      "What is compared: two events (instructions/cycles), or ipc (default), cpi, exact-ipc, exact-cpi")
      ->type_name("NUM/DEN");
  add_filters(command, parameters);
  add_sides(command, parameters);
  add_parameter(command, "--by", "by", parameters, "What stays the same on both sides (default: job)")
      ->type_name("DIM,...");
  add_limit(command, parameters);
  add_parameter(command, "--margin", "margin", parameters,
                "Margin that is wanted: more_machines says what it takes (default 1%)")
      ->type_name("SHARE");
}

std::string compare_footer() {
  return "The first row is the mean over the jobs that both sides run, each by what it was on the base side, "
         "weighted "
         "by CPU quotas:\na change of the mix of jobs does not move it. The second is all over all, which it "
         "moves.\n"
         "Examples:\n"
         "  plimsoll compare --data DIR --base-where platform=skylake --new-where platform=rome\n"
         "  plimsoll compare --data DIR --base-where revision=41 --new-where revision=42 --where job=search "
         "--ratio "
         "cpi\n"
         "  plimsoll compare --data DIR --since 1d --earlier 7d --ratio LLC-load-misses/instructions\n";
}

void add_series_flags(CLI::App& command, query::Parameters& parameters) {
  add_selection(command, parameters);
  add_parameter(command, "--bucket", "bucket", parameters,
                "Length of a step of time (default: so that there are a few dozen at most)")
      ->type_name("DURATION");
  add_measure(command, "What is shown: share (default), or rate: per machine and second", parameters);
  add_by(command, parameters);
  add_parameter(command, "--limit", "limit", parameters,
                "Rows to follow, the largest of all of the time (default 5)")
      ->type_name("N");
}

std::string series_footer() {
  return "Examples:\n"
         "  plimsoll series --data DIR --since 1d --bucket 1h                   the five hottest functions, "
         "hour "
         "by hour\n"
         "  plimsoll series --data DIR --by job --measure rate                  what each job takes of a "
         "machine\n"
         "  plimsoll series --data DIR --by platform --measure rate --csv       all of it, to draw\n";
}

void add_stability_flags(CLI::App& command, query::Parameters& parameters) {
  add_selection(command, parameters);
  add_by(command, parameters);
  add_parameter(command, "--top", "top", parameters,
                "Distances are over so many of the largest rows of either half (default 20)")
      ->type_name("N");
  add_parameter(command, "--tolerance", "tolerance", parameters,
                "Manhattan distance that does not matter, from 0 to 2 (default 0.1: a twentieth of the time "
                "is spent elsewhere)")
      ->type_name("DISTANCE");
  add_parameter(command, "--permutations", "permutations", parameters,
                "Permutations of machines to know chance by (default 1000)")
      ->type_name("N");
}

std::string stability_footer() {
  return "Verdicts: stable; noisy (chance alone moves it by more than is tolerated: more machines, or a "
         "longer "
         "time, help as the\ntable says); moved (the halves differ by more than chance: no number of "
         "machines "
         "changes that); too few machines.\n"
         "Examples:\n"
         "  plimsoll stability --data DIR --since 1d\n"
         "  plimsoll stability --data DIR --where job=search --by function --tolerance 0.05\n";
}

void add_shared_flags(CLI::App& command, query::Parameters& parameters) {
  add_selection(command, parameters);
  add_parameter(command, "--by", "by", parameters, "The code: function (default), file, binary, ...")
      ->type_name("DIM,...");
  add_parameter(command, "--across", "across", parameters, "Who runs it: job (default), app, machine, ...")
      ->type_name("DIM");
  add_parameter(command, "--part", "part", parameters, "self (default), or total: with what the code calls")
      ->type_name("PART");
  add_parameter(command, "--below", "below", parameters,
                "Leave out code that surely takes a larger share of one job (default 5%)")
      ->type_name("SHARE");
  add_limit(command, parameters);
  add_no_margins(command, parameters);
}

std::string shared_footer() {
  return "No job's owner would look at this code, and all of them pay for it.\n"
         "Examples:\n"
         "  plimsoll shared --data DIR                                   functions\n"
         "  plimsoll shared --data DIR --by binary --below 20%           libraries, by all of their "
         "functions\n"
         "  plimsoll shared --data DIR --part total --where binary=libprotobuf.so.32\n";
}

void add_coverage_flags(CLI::App& command, query::Parameters& parameters) {
  add_selection(command, parameters);
  add_parameter(command, "--by", "by", parameters,
                "Parts of the fleet: platform (default), cluster, kernel, machine, ...")
      ->type_name("DIM,...");
  add_limit(command, parameters);
}

std::string coverage_footer() {
  return "Examples:\n"
         "  plimsoll coverage --data DIR --since 1d                      whom today's answers stand on\n"
         "  plimsoll coverage --data DIR --by machine --where cluster=eu-1\n"
         "  plimsoll coverage --data DIR --by daemon_version             who samples, and whose stacks have "
         "names\n";
}

void add_machines_flags(CLI::App& command, query::Parameters& parameters) {
  add_parameter(command, "--by", "by", parameters,
                "machine (default), or instance: quotas and CPU time of each instance")
      ->type_name("WHAT");
  add_parameter(command, "--at", "at", parameters,
                "The machines as they were then: RFC 3339, or relative (1h, -2h)")
      ->type_name("TIME");
  auto* revoke =
      add_parameter(command, "--revoke", "revoke", parameters,
                    "The server lets this machine in no more: neither its token nor a certificate counts")
          ->type_name("ID");
  add_parameter(command, "--readmit", "readmit", parameters,
                "The server forgets this machine's token, and that it was revoked: it may enrol anew")
      ->type_name("ID")
      ->excludes(revoke);
}

void add_measure_flags(CLI::App& command, query::Parameters& parameters) {
  add_parameter(command, "--job", "job", parameters, "Machines that run this job; may be repeated")
      ->type_name("JOB");
  add_parameter(command, "--machine", "machine", parameters, "This machine; may be repeated")
      ->type_name("ID");
  add_parameter(command, "--for", "for", parameters, "How long (default 30s, 10m at most)")
      ->type_name("DURATION");
  add_parameter(command, "--most", "most", parameters,
                "How many of these machines, by chance, at most (default 10)")
      ->type_name("N");
  add_parameter(command, "--events", "events", parameters, "In place of the configured ones")
      ->type_name("EVENT,...");
  add_parameter(command, "--rate", "rate_hz", parameters,
                "Samples a second and CPU, in place of the configured rate")
      ->type_name("HZ");
}

std::string measure_footer() {
  return "Some of the machines that are meant measure at the next time at which nobody else does; never more "
         "at once of a job, a rack or a platform\n"
         "than the server's configuration permits. Answers are about them where --where draw=ID asks for "
         "it, and never otherwise.\n"
         "Examples:\n"
         "  plimsoll measure --server 127.0.0.1:7070 --job web --for 30s\n"
         "  plimsoll measure --server 127.0.0.1:7070 --machine m17 --events cycles,llc-misses --rate 499\n";
}

void add_audit_flags(CLI::App& command, query::Parameters& parameters) {
  add_parameter(command, "--since", "since", parameters, "Start: RFC 3339, or relative (1h, -2h)")
      ->type_name("TIME");
  add_parameter(command, "--limit", "limit", parameters, "Rows to show (default 50)")->type_name("N");
}

std::string audit_footer() {
  return "All that people asked and ordered, machines that enrolled, and what was refused to daemons; kept "
         "for 90 "
         "days.\n"
         "Example:\n"
         "  plimsoll audit --server 127.0.0.1:7070 --since 1h\n";
}

void add_jobs_flags(CLI::App& command, query::Parameters& parameters) {
  add_parameter(command, "--at", "at", parameters, "What ran then: RFC 3339, or relative (1h, -2h)")
      ->type_name("TIME");
  add_limit(command, parameters);
}

std::string jobs_footer() {
  return "Examples:\n"
         "  plimsoll jobs --server 127.0.0.1:7070                  what uses most CPU time\n"
         "  plimsoll jobs --data DIR --limit 1000000 --csv         all of them\n"
         "  plimsoll jobs --data DIR --at 7d                       which quotas they had a week ago\n";
}

void add_draws_flags(CLI::App& command, query::Parameters& parameters) {
  add_parameter(command, "draw", "id", parameters, "The draw to explain, as the list names it")
      ->type_name("ID");
  add_parameter(command, "--by", "by", parameters,
                "With an ID: machine (default), or stratum: the parts of the fleet that were drawn from")
      ->type_name("WHAT");
  command.add_flag_callback(
      "--verify", [&parameters] { parameters.emplace_back("verify", "yes"); },
      "With an ID: makes the draw again from its seed and the fleet of then, and fails where other machines "
      "come out");
  add_limit(command, parameters);
}

std::string draws_footer() {
  return "What becomes of a drawn machine: answered (of these partial: with less than the window; late), "
         "pending, "
         "withheld (too many of its kind\nwould measure at once), unreached (not heard of in time), refused "
         "(by its own limits), failed, vanished (not heard of\nany more), "
         "lost (no profile came).\n"
         "Examples:\n"
         "  plimsoll draws --server 127.0.0.1:7070                              the newest\n"
         "  plimsoll draws --data DIR fleet-2026-11-23T06:00:00Z                who was drawn, and what "
         "came\n"
         "  plimsoll draws --data DIR fleet-2026-11-23T06:00:00Z --by stratum   and from whom\n"
         "  plimsoll draws --data DIR fleet-2026-11-23T06:00:00Z --verify       and that it was by chance\n";
}

void add_collection_flags(CLI::App& command, query::Parameters& parameters) {
  auto* stop =
      add_parameter(command, "--stop", "stop", parameters,
                    "Nothing is measured any more, from each machine's next heartbeat on, until --resume; "
                    "the reason is shown to whoever asks")
          ->type_name("REASON");
  auto* resume = command.add_flag_callback(
      "--resume", [&parameters] { parameters.emplace_back("resume", ""); },
      "Ends what was stopped, by hand or for failures");
  stop->excludes(resume);
}

std::string collection_footer() {
  return "What fails too often is stopped by itself, and tried again step by step (draw.stop_percent in the "
         "server's "
         "configuration).\n"
         "Examples:\n"
         "  plimsoll collection --server 127.0.0.1:7070                               what is stopped, and "
         "why\n"
         "  plimsoll collection --server 127.0.0.1:7070 --stop \"latency of search\"   the kill switch\n"
         "  plimsoll collection --server 127.0.0.1:7070 --resume\n";
}

std::string no_footer() {
  return {};
}

constexpr std::array<TableCommand, 15> kCommands{{
    {"top", "What is hot: self and total, by any dimensions", add_top_flags, top_footer, run_top},
    {"callers", "Who calls a function, and for how much of its time", add_neighbour_flags, neighbour_footer,
     run_callers},
    {"callees", "What a function calls, and how much of its time goes there", add_neighbour_flags,
     neighbour_footer, run_callees},
    {"diff", "What changed between two selections, and whether by more than chance", add_diff_flags,
     diff_footer, run_diff},
    {"compare", "By how much IPC or another ratio differs, on the jobs that both sides run",
     add_compare_flags, compare_footer, run_compare},
    {"shared", "Code that is important in no job, and large in all of them together", add_shared_flags,
     shared_footer, run_shared},
    {"series", "How the largest rows go over time", add_series_flags, series_footer, run_series},
    {"stability", "Whether another look would say the same; if not, what would help", add_stability_flags,
     stability_footer, run_stability},
    {"coverage", "Which part of the fleet, and of its CPU time, answers stand on", add_coverage_flags,
     coverage_footer, run_coverage},
    {"machines", "The machines, and what runs on them", add_machines_flags, no_footer, run_machines},
    {"jobs", "The jobs: on how many machines, their CPU quotas, what they use", add_jobs_flags, jobs_footer,
     run_jobs},
    {"draws", "When machines were drawn, who, and what became of each", add_draws_flags, draws_footer,
     run_draws},
    {"collection", "What is stopped, and the kill switch", add_collection_flags, collection_footer,
     run_collection},
    {"measure", "Have some machines measured now, whatever is drawn", add_measure_flags, measure_footer,
     run_measure},
    {"audit", "Who asked for what, and what the answer was", add_audit_flags, audit_footer, run_audit},
}};

}  // namespace

std::span<const TableCommand> table_commands() {
  return kCommands;
}

}  // namespace plimsoll::cli
