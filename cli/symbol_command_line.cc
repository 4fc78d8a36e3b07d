#include "cli/symbol_command_line.h"

#include <CLI/CLI.hpp>
#include <map>

#include "cli/choice.h"
#include "query/annotate/process/annotate_child.h"
#include "symbolizer/process/child.h"
#include "symbolizer/process/zygote.h"

namespace plimsoll::cli {
namespace {

void add_making(CLI::App& command, TableSource& source) {
  command
      .add_option("--debug-root", source.debug_folders,
                  "Folder of separate debug files; may be repeated (default: /usr/lib/debug)")
      ->allow_extra_args(false)
      ->type_name("DIR");
  command
      .add_option("--memory", source.memory_mib,
                  "Memory limit of the process that reads the binary (default: 1024)")
      ->type_name("MIB")
      ->check(CLI::Range(16, 1 << 20));
  command
      .add_option("--threads", source.threads,
                  "Threads that read the binary; the table does not depend on it (default: one per CPU)")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
}

void add_files(CLI::App& command, symbolizer::NamedFiles& files) {
  command.add_option("--debug", files.debug, "File with its DWARF (default: searched for)")
      ->type_name("FILE");
  command
      .add_option("--supplement", files.supplement,
                  "dwz supplement that the DWARF refers to (default: searched for)")
      ->type_name("FILE");
  command.add_option("--dwp", files.package, "Package of its split DWARF (default: searched for)")
      ->type_name("FILE");
}

void add_symbolize(CLI::App& app, SymbolizeOptions& options) {
  auto* command =
      app.add_subcommand("symbolize", "Translate addresses of a binary to functions, files and lines");
  auto* binary = command->add_option("--binary", options.source.files.binary, "Binary of the addresses")
                     ->type_name("FILE");
  auto* table =
      command->add_option("--table", options.table, "Symbol table of the binary, from plimsoll symtab build")
          ->type_name("FILE");
  auto* build = command->add_option("--build-id", options.build_id, "Build ID whose symbols --data has")
                    ->type_name("HEX");
  auto* data = command->add_option("--data", options.data_dir, "Data directory with symbols of --build-id")
                   ->type_name("DIR");
  build->needs(data)->excludes(binary)->excludes(table);
  data->needs(build);
  binary->excludes(table);
  add_files(*command, options.source.files);
  add_making(*command, options.source);
  command
      ->add_option("--names", options.names,
                   "raw: mangled; display (default): demangled; short: without template arguments")
      ->type_name("FORM")
      ->transform(choice(std::map<std::string, NameForm>{
          {"raw", NameForm::kRaw}, {"display", NameForm::kDisplay}, {"short", NameForm::kShort}}));
  command->footer(
      R"(Reads hexadecimal ELF addresses from standard input, one per line, with or without 0x, and prints a line of JSON for
each, in order. Unknown addresses have no frames. The innermost frame is first. Output is flushed before it waits for
more input, so that it works as a co-process. For a line without an address it prints "error"; the exit status is
then 1.
Examples:
  echo 0x401136 | plimsoll symbolize --binary ./a.out
    {"address": "0x401136", "frames": [{"function": "main", "file": "/src/a.c", "line": 3, "column": 5, "inlined": false}]}
  plimsoll symtab build ./a.out -o a.symtab           once, for many look-ups later:
  plimsoll symbolize --table a.symtab --names raw < addresses
  plimsoll symbolize --build-id 5dc767c02e18... --data /var/lib/plimsoll < addresses
)");
}

void add_build(CLI::App& symtab, SymtabBuildOptions& options) {
  auto* command = symtab.add_subcommand("build", "Build the symbol table of a binary");
  command->add_option("file", options.source.files.binary, "Binary, or its separate debug file")
      ->type_name("FILE")
      ->required();
  command->add_option("-o,--output", options.output, "Output file")->type_name("FILE")->required();
  add_files(*command, options.source.files);
  add_making(*command, options.source);
  command->footer(
      R"(Examples:
  plimsoll symtab build ./a.out -o a.symtab
  plimsoll symtab build stripped --debug stripped.debug -o stripped.symtab
  plimsoll symtab build split --dwp split.dwp -o split.symtab
)");
}

void add_dump(CLI::App& symtab, SymtabDumpOptions& options) {
  auto* command = symtab.add_subcommand("dump", "Print a symbol table: its header, then a line per row");
  command->add_option("table", options.table, "Symbol table")->type_name("TABLE")->required();
  command->add_flag("--json", options.as_json,
                    "Print lines of JSON: the header, then rows as symbolize prints them");
  command->footer(
      R"(A row covers the addresses up to the next row. Names are mangled.
Examples:
  plimsoll symtab dump a.symtab | grep ' main '
  plimsoll symtab dump a.symtab --json | jq -r '.frames[0].function'
)");
}

void add_verify(CLI::App& symtab, SymbolOptions& options) {
  auto* command = symtab.add_subcommand(
      "verify", "Check that a symbol table is intact, or compare both readers of debug information");
  ReaderComparisonOptions& comparison = options.comparison;
  auto* table = command->add_option("table", options.verify, "Symbol table")->type_name("TABLE");
  auto* libdw =
      command
          ->add_option("--libdw", comparison.source.files.binary,
                       "Binary, or its debug file: compare libdw with our reader at random addresses")
          ->type_name("FILE")
          ->excludes(table);
  command->add_option("--addresses", comparison.addresses, "Addresses to compare (default: 10000)")
      ->type_name("N")
      ->check(CLI::Range(1, 100'000'000))
      ->needs(libdw);
  command->add_option("--seed", comparison.seed, "Seed of the random addresses (default: 1)")
      ->type_name("N")
      ->needs(libdw);
  command->footer(
      R"(Exit status 1, with the reason, where the file is damaged or no symbol table. With --libdw: where fewer than 99.9 % of the
addresses have the same functions, files and lines, inlined calls included. The first that differ are printed.
Examples:
  plimsoll symtab verify a.symtab
  plimsoll symtab verify --libdw ./a.out --addresses 100000
)");
}

void add_symtab(CLI::App& app, SymbolOptions& options) {
  auto* symtab = app.add_subcommand("symtab", "Build, print and verify symbol tables");
  symtab->require_subcommand(1);
  add_build(*symtab, options.build);
  add_dump(*symtab, options.dump);
  add_verify(*symtab, options);
  // Started by this program itself, and by tests: what parses binaries for it.
  symtab->add_subcommand("worker", "Make a symbol table as standard input says")
      ->group("")
      ->add_flag("--zygote", options.as_zygote, "Make a process for each table that is asked for");
  symtab->add_subcommand("annotate", "Annotate the code of a function as standard input says")->group("");
}

Status run_symtab(const CLI::App& symtab, const SymbolOptions& options) {
  if (symtab.got_subcommand("build")) {
    return run_symtab_build(options.build);
  }
  if (symtab.got_subcommand("dump")) {
    return run_symtab_dump(options.dump);
  }
  if (symtab.got_subcommand("verify")) {
    const bool compares = !options.comparison.source.files.binary.empty();
    if (compares == !options.verify.empty()) {
      return fail(ErrorCode::kInvalid, "symtab verify: a symbol table, or --libdw FILE is required");
    }
    return compares ? run_reader_comparison(options.comparison) : run_symtab_verify(options.verify);
  }
  if (symtab.got_subcommand("annotate")) {
    return annotate::run_annotate_child();
  }
  return options.as_zygote ? symbolizer::run_zygote() : symbolizer::run_table_child();
}

}  // namespace

void add_symbol_commands(CLI::App& app, SymbolOptions& options) {
  add_symbolize(app, options.symbolize);
  add_symtab(app, options);
}

bool gives_symbol_command(const CLI::App& app) {
  return app.got_subcommand("symbolize") || app.got_subcommand("symtab");
}

Status run_symbol_command(const CLI::App& app, const SymbolOptions& options) {
  if (app.got_subcommand("symtab")) {
    return run_symtab(*app.get_subcommand("symtab"), options);
  }
  const SymbolizeOptions& symbolize = options.symbolize;
  const bool says_where =
      !symbolize.source.files.binary.empty() || !symbolize.table.empty() || !symbolize.build_id.empty();
  return says_where
             ? run_symbolize(symbolize)
             : fail(ErrorCode::kInvalid,
                    "symbolize: --binary FILE, --table FILE, or --build-id HEX --data DIR is required");
}

}  // namespace plimsoll::cli
