#include "cli/annotate_command_line.h"

#include <CLI/CLI.hpp>
#include <map>

#include "cli/choice.h"
#include "cli/views/flags.h"

namespace plimsoll::cli {

void add_annotate_command(CLI::App& app, AnnotateOptions& options) {
  auto* command = app.add_subcommand(
      "annotate", "Show the source lines and instructions of a function, with the samples at each");
  command->add_option("function", options.function, "Function, as top names it, or its mangled name")
      ->type_name("FUNCTION")
      ->required();
  add_source(*command, options.source);
  add_parameter(
      *command, "--event", "event", options.parameters,
      "Event to count, or several with commas between, side by side (default: cycles, or cpu-clock)")
      ->type_name("EVENT,...");
  command
      ->add_option("--binary", options.binary,
                   "Binary with the function, where several have it: a file here, a build ID or its first "
                   "digits, or the file's name on the machines")
      ->type_name("FILE");
  command
      ->add_option("--debug", options.debug,
                   "Separate debug file of a binary that is given as a file (default: looked for)")
      ->type_name("FILE");
  command
      ->add_option(
          "--source-root", options.source_roots,
          "Folder of source files to show lines from, or \"/build/dir = /srv/src\" for files that the "
          "compiler knew as /build/dir; may be repeated (default: none, lines without text)")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->take_all();
  const std::map<std::string, annotate::Order> orders{{"source", annotate::Order::kSource},
                                                      {"address", annotate::Order::kAddress}};
  command
      ->add_option("--order", options.order,
                   "source: by line (default); address: as the instructions lie in memory")
      ->type_name("ORDER")
      ->transform(choice(orders));
  add_parameter(*command, "--where", "where", options.parameters,
                "Filter, such as job=search, as of `top`; may be repeated")
      ->type_name("PREDICATE");
  add_parameter(*command, "--since", "since", options.parameters,
                "Start of the time range: RFC 3339, or an age such as 1h")
      ->type_name("TIME");
  add_parameter(*command, "--until", "until", options.parameters,
                "End of the time range: RFC 3339, or an age such as 1h")
      ->type_name("TIME");
  command->add_flag("--json", options.is_json, "Print one JSON document");
  command->footer(
      R"(The binary is a file here (--binary FILE), or is searched for by build ID: by a server below its symbols.roots, of
--data on this machine. Samples land on an instruction after the one that caused them unless the event is precise.

Examples:
  # a function of a local binary, with the samples of a server
  plimsoll annotate --server ADDR find --binary ./search
  # two events side by side, instructions as they lie in memory
  plimsoll annotate --data DIR find --binary ./search --event cycles,cache-misses --order address
  # with source text, for a script
  plimsoll annotate --data DIR find --binary ./search --source-root . --json
)");
}

}  // namespace plimsoll::cli
