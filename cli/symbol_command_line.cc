#include "cli/symbol_command_line.h"

#include <CLI/CLI.hpp>
#include <map>

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
                  "What the process that reads the binary may allocate (default: 1024)")
      ->type_name("MIB")
      ->check(CLI::Range(16, 1 << 20));
  command
      .add_option("--threads", source.threads,
                  "How many read the binary; the table is the same with any (default: one for each CPU)")
      ->type_name("N")
      ->check(CLI::Range(1, 64));
}

void add_files(CLI::App& command, symbolizer::NamedFiles& files) {
  command.add_option("--debug", files.debug, "File with its DWARF (default: looked for)")->type_name("FILE");
  command
      .add_option("--supplement", files.supplement,
                  "dwz's file that the DWARF refers to (default: looked for)")
      ->type_name("FILE");
  command.add_option("--dwp", files.package, "Package of its split DWARF (default: looked for)")
      ->type_name("FILE");
}

void add_symbolize(CLI::App& app, SymbolizeOptions& options) {
  auto* command = app.add_subcommand("symbolize", "Functions, files and lines of a binary's addresses");
  auto* binary =
      command->add_option("--binary", options.source.files.binary, "Binary that the addresses are of")
          ->type_name("FILE");
  auto* table = command->add_option("--table", options.table, "Its symbol table, of plimsoll symtab build")
                    ->type_name("FILE");
  auto* build =
      command->add_option("--build-id", options.build_id, "Build that a data directory has symbols of")
          ->type_name("HEX");
  auto* data = command->add_option("--data", options.data_dir, "That data directory")->type_name("DIR");
  build->needs(data)->excludes(binary)->excludes(table);
  data->needs(build);
  binary->excludes(table);
  add_files(*command, options.source.files);
  add_making(*command, options.source);
  command
      ->add_option(
          "--names", options.names,
          "raw: as linked; display (default): as people read them; short: without template arguments")
      ->type_name("FORM")
      ->transform(CLI::CheckedTransformer(std::map<std::string, NameForm>{
          {"raw", NameForm::kRaw}, {"display", NameForm::kDisplay}, {"short", NameForm::kShort}}));
  command->footer(
      "Reads hexadecimal ELF addresses from standard input, one a line, with or without 0x, and answers each "
      "with a line\n"
      "of JSON, in order; unknown ones have no frames. The innermost frame comes first. It answers what it "
      "has read before\n"
      "it waits for more, so that it works as a co-process. A line that holds no address is answered too, "
      "with \"error\";\n"
      "the exit status is then 1.\n"
      "Examples:\n"
      "  echo 0x401136 | plimsoll symbolize --binary ./a.out\n"
      "    {\"address\": \"0x401136\", \"frames\": [{\"function\": \"main\", \"file\": \"/src/a.c\", "
      "\"line\": 3, \"column\": 5, "
      "\"inlined\": false}]}\n"
      "  plimsoll symtab build ./a.out -o a.symtab           once, for many look-ups later:\n"
      "  plimsoll symbolize --table a.symtab --names raw < addresses\n"
      "  plimsoll symbolize --build-id 5dc767c02e18... --data /var/lib/plimsoll < addresses\n");
}

void add_build(CLI::App& symtab, SymtabBuildOptions& options) {
  auto* command = symtab.add_subcommand("build", "Make the symbol table of a binary");
  command->add_option("file", options.source.files.binary, "Binary, or its separate debug file")
      ->type_name("FILE")
      ->required();
  command->add_option("-o,--output", options.output, "Where to write the table")
      ->type_name("FILE")
      ->required();
  add_files(*command, options.source.files);
  add_making(*command, options.source);
  command->footer(
      "Examples:\n"
      "  plimsoll symtab build ./a.out -o a.symtab\n"
      "  plimsoll symtab build stripped --debug stripped.debug -o stripped.symtab\n"
      "  plimsoll symtab build split --dwp split.dwp -o split.symtab\n");
}

void add_dump(CLI::App& symtab, SymtabDumpOptions& options) {
  auto* command = symtab.add_subcommand("dump", "Print a symbol table: its header, then a line for each row");
  command->add_option("table", options.table, "Symbol table")->type_name("TABLE")->required();
  command->add_flag("--json", options.as_json,
                    "Lines of JSON: the header, then each row as symbolize prints it");
  command->footer(
      "A row holds from its address up to the next row's. Names are as linked.\n"
      "Examples:\n"
      "  plimsoll symtab dump a.symtab | grep ' main '\n"
      "  plimsoll symtab dump a.symtab --json | jq -r '.frames[0].function'\n");
}

void add_symtab(CLI::App& app, SymbolOptions& options) {
  auto* symtab = app.add_subcommand("symtab", "Make, show and check symbol tables");
  symtab->require_subcommand(1);
  add_build(*symtab, options.build);
  add_dump(*symtab, options.dump);
  symtab->add_subcommand("verify", "Check that a symbol table is whole")
      ->add_option("table", options.verify, "Symbol table")
      ->type_name("TABLE")
      ->required();
  // Started by this program itself, and by tests: what parses binaries for it.
  symtab->add_subcommand("worker", "Make a symbol table as standard input says")
      ->group("")
      ->add_flag("--zygote", options.as_zygote, "Make a process for each table that is asked for");
}

Status run_symtab(const CLI::App& symtab, const SymbolOptions& options) {
  if (symtab.got_subcommand("build")) {
    return run_symtab_build(options.build);
  }
  if (symtab.got_subcommand("dump")) {
    return run_symtab_dump(options.dump);
  }
  if (symtab.got_subcommand("verify")) {
    return run_symtab_verify(options.verify);
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
                    "symbolize: say what the addresses are of: --binary FILE, --table FILE, or --build-id "
                    "HEX --data DIR");
}

}  // namespace plimsoll::cli
