#include "cli/binaries_command_line.h"

#include <CLI/CLI.hpp>
#include <array>
#include <utility>

#include "cli/views/flags.h"
#include "query/registry/view.h"

namespace plimsoll::cli {
namespace {

CLI::App* add_view_of_binaries(CLI::App& binaries, const char* name, const char* view_name,
                               TableOptions& options) {
  const query::View& view = *query::find_view(view_name);
  auto* command = binaries.add_subcommand(name, view.summary);
  add_source(*command, options.source);
  add_parameters(*command, view.parameters, options.parameters);
  add_forms(*command, options.form);
  return command;
}

void add_list_and_missing(CLI::App& binaries, BinariesOptions& options) {
  add_view_of_binaries(binaries, "list", "binaries", options.list)->footer(R"(Examples:
  plimsoll binaries list --server ADDR
  plimsoll binaries list --data DIR --json
)");
  add_view_of_binaries(binaries, "missing", "binaries/missing", options.missing)
      ->footer(
          R"(Samples whose innermost code has a name are not counted, nor is the kernel: its names come with profiles.

Examples:
  plimsoll binaries missing --server ADDR --since 1d
  plimsoll binaries missing --data DIR --where job=web
)");
}

void add_binaries_show(CLI::App& binaries, BinariesOptions& options) {
  auto* show = binaries.add_subcommand("show", "Show the files of one build, and where they came from");
  show->add_option("build_id", options.shown_build_id,
                   "Build ID in hexadecimal digits, its first digits, or an htlhash")
      ->type_name("BUILD_ID")
      ->required();
  add_source(*show, options.show.source);
  add_forms(*show, options.show.form);
  show->footer(R"(Examples:
  plimsoll binaries show 5dc767c0 --server ADDR --json
)");
}

void add_binaries_add(CLI::App& binaries, BinariesAddOptions& options) {
  auto* add =
      binaries.add_subcommand("add", "Add executables and debug files, so that their code gets names");
  add->add_option("files", options.paths, "ELF files, .deb packages, or folders of them")
      ->type_name("FILE")
      ->required();
  add_source(*add, options.source);
  constexpr std::array<std::pair<const char*, const char*>, 4> kLabels{
      {{"--revision", "Label: revision of the sources"},
       {"--builder", "Label: who or what built it"},
       {"--compiler", "Label: its compiler"},
       {"--source-url", "Label: where its sources are"}}};
  constexpr std::array kKeys{"revision", "builder", "compiler", "source_url"};
  for (size_t i = 0; i < kLabels.size(); ++i) {
    add->add_option_function<std::string>(
           kLabels[i].first,
           [&options, key = kKeys[i]](const std::string& text) { options.labels.emplace_back(key, text); },
           kLabels[i].second)
        ->type_name("TEXT");
  }
  add->add_option("--sources", options.sources,
                  "Source files of the build: a folder, /build/dir = FOLDER, or a tar archive")
      ->type_name("PLACE");
  add_forms(*add, options.form);
  add->footer(
      R"(Files are kept by the build ID inside of them. One with fewer symbols never replaces one with more; other bytes with as
many symbols under the same build ID are refused. Names of profiles that are stored already appear within seconds. With
--data no server may be using the directory: names appear when one starts, or with "plimsoll import --data DIR".
Sources are for plimsoll annotate, and for debuggers that fetch them; they replace those that were there.

Examples:
  plimsoll binaries add search.debug --server ADDR --revision 4f2c
  plimsoll binaries add search.debug --sources ./src --server ADDR
  plimsoll binaries add search search.debug --data DIR
)");
}

void add_binaries_verify(CLI::App& binaries, BinariesVerifyOptions& options) {
  auto* verify = binaries.add_subcommand("verify", "Read every file again: its build ID and its content");
  verify->add_option("--data", options.data_dir, "Data directory; a server may be using it")
      ->type_name("DIR")
      ->required();
  add_forms(*verify, options.form);
  verify->footer(R"(Changes nothing. The exit status is 1 where a file is damaged.

Examples:
  plimsoll binaries verify --data DIR
)");
}

}  // namespace

void add_binaries_command(CLI::App& app, BinariesOptions& options) {
  auto* binaries = app.add_subcommand("binaries", "Keep executables and debug files by build ID, for names");
  binaries->require_subcommand(1);
  add_list_and_missing(*binaries, options);
  add_binaries_add(*binaries, options.add);
  add_binaries_show(*binaries, options);
  add_binaries_verify(*binaries, options.verify);
}

Status run_binaries_command(const CLI::App& app, const BinariesOptions& options) {
  const CLI::App& binaries = *app.get_subcommand("binaries");
  if (binaries.got_subcommand("add")) {
    return run_binaries_add(options.add);
  }
  if (binaries.got_subcommand("verify")) {
    return run_binaries_verify(options.verify);
  }
  if (binaries.got_subcommand("show")) {
    TableOptions show = options.show;
    show.parameters = {{"build_id", options.shown_build_id}};
    return run_binaries_view("binaries", show);
  }
  return binaries.got_subcommand("missing") ? run_binaries_view("binaries/missing", options.missing)
                                            : run_binaries_view("binaries", options.list);
}

}  // namespace plimsoll::cli
