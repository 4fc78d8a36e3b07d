#include "cli/annotate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/hex.h"
#include "base/time.h"
#include "cli/fdo_input.h"
#include "cli/symbol_tables.h"
#include "cli/views/commands.h"
#include "config/server_config.h"
#include "query/annotate/annotation_forms.h"
#include "query/annotate/counts/annotate_request.h"
#include "query/annotate/process/annotate_process.h"
#include "query/annotate/source_files.h"
#include "query/fdo/counts/binary_paths.h"
#include "query/fdo/counts/count_binary.h"
#include "query/selection/sides.h"
#include "query/snapshot/snapshot.h"
#include "symbolizer/repository/repository_files.h"
#include "symbolizer/worker/table_folder.h"

namespace plimsoll::cli {
namespace {

bool names_file(const std::string& binary) {
  std::error_code error;
  return !binary.empty() && std::filesystem::is_regular_file(binary, error);
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const auto whole = std::filesystem::absolute(path, error);
  return path.empty() || error ? path : whole.string();
}

// "." and "src" may be meant from here on; a prefix is the compiler's.
Result<std::vector<annotate::SourceRoot>> source_roots_of(const AnnotateOptions& options) {
  std::vector<std::string> texts = options.source_roots;
  for (std::string& text : texts) {
    const bool is_folder = text.find(" = ") == std::string::npos && !text.empty();
    text = is_folder ? std::filesystem::path(absolute_path(text)).lexically_normal().string() : text;
  }
  auto roots = annotate::parse_source_roots(texts);
  return roots ? std::move(roots)
               : Result<std::vector<annotate::SourceRoot>>(with_field(propagate(roots), "--source-root"));
}

// Those of GET /api/v1/annotate.
query::Parameters parameters_of(const AnnotateOptions& options) {
  query::Parameters parameters = options.parameters;
  parameters.emplace_back("function", options.function);
  parameters.emplace_back("order", options.order == annotate::Order::kSource ? "source" : "address");
  parameters.emplace_back("format", options.is_json ? "json" : "text");
  if (!options.binary.empty() && !names_file(options.binary)) {
    parameters.emplace_back("binary", options.binary);
  }
  return parameters;
}

Result<fdo::BinaryCounts> counts_of_event(const AnnotateOptions& options, const std::string& build_id,
                                          const std::string& event) {
  TableOptions table_options;
  table_options.source = options.source;
  std::ranges::copy_if(options.parameters, std::back_inserter(table_options.parameters),
                       [](const auto& parameter) { return parameter.first != "event"; });
  table_options.parameters.emplace_back("build_id", build_id);
  if (!event.empty()) {
    table_options.parameters.emplace_back("event", event);
  }
  const auto table = ask_table("fdo-counts", table_options);
  return table ? fdo::counts_from(*table)
               : propagate(table, "looking for samples of {} (build ID {})", options.binary, build_id);
}

// Of a file of this machine.
Result<annotate::AnnotateOrder> order_of_file(const AnnotateOptions& options,
                                              const annotate::AnnotateRequest& request) {
  const auto build_id = build_id_of(options.binary);
  if (!build_id) {
    return propagate(build_id);
  }
  const auto of_debug = options.debug.empty() ? build_id : build_id_of(options.debug);
  if (!of_debug) {
    return propagate(of_debug);
  }
  if (*of_debug != *build_id) {
    return with_field(fail(ErrorCode::kInvalid, "{} has the build ID {}, and {} has {}", options.debug,
                           *of_debug, options.binary, *build_id),
                      "--debug");
  }
  annotate::AnnotateOrder order{
      .function = options.function,
      .files = {.roots = {{"/"}, config::ServerConfig().symbol_debug_roots},
                .named = {.binary = absolute_path(options.binary), .debug = absolute_path(options.debug)}}};
  std::vector<std::string> events = request.events;
  events.resize(std::max<size_t>(events.size(), 1));
  for (const std::string& event : events) {
    auto counts = counts_of_event(options, *build_id, event);
    // An event that other binaries have samples of is shown without any; an unknown one is a mistake (field: event).
    const bool has_none =
        !counts && counts.error().code == ErrorCode::kNotFound && counts.error().field.empty();
    if (has_none && !order.counts.empty()) {
      counts = fdo::BinaryCounts{.build_id = *build_id, .event = event};
    }
    if (!counts) {
      return propagate(counts);
    }
    counts->path = options.binary;
    order.counts.push_back(std::move(*counts));
  }
  return order;
}

// Of a data directory, whose binaries are looked for on this machine.
Result<annotate::AnnotateOrder> order_of_data(const AnnotateOptions& options,
                                              const annotate::AnnotateRequest& request, int64_t now_ns) {
  const auto snapshot =
      query::Snapshot::load(options.source.data_dir, query::times_of(options.parameters, now_ns));
  if (!snapshot) {
    return propagate(snapshot);
  }
  auto measured = annotate::measure_function(request, options.parameters, now_ns, **snapshot);
  if (!measured) {
    return propagate(measured);
  }
  const auto identity = from_hex(measured->build_id);
  if (!identity) {
    return fail(ErrorCode::kCorrupt, "the store has the build ID \"{}\"", measured->build_id);
  }
  const config::ServerConfig defaults;
  return annotate::AnnotateOrder{
      .function = options.function,
      .counts = std::move(measured->counts),
      .files = {.identity_kind = wire::GNU_BUILD_ID,
                .identity = *identity,
                .paths = fdo::paths_of_build(**snapshot, *identity),
                .roots = {defaults.symbol_roots,
                          symbolizer::with_repository(defaults.symbol_debug_roots, options.source.data_dir)}},
      .kept_table = symbolizer::table_path(options.source.data_dir, *identity)};
}

Result<annotate::Annotation> annotate_here(const AnnotateOptions& options) {
  const auto roots = source_roots_of(options);
  if (!roots) {
    return propagate(roots);
  }
  const int64_t now_ns = wall_now_ns();
  const auto request = annotate::parse_annotate(parameters_of(options), now_ns);
  if (!request) {
    return propagate(request);
  }
  auto order = names_file(options.binary) ? order_of_file(options, *request)
                                          : order_of_data(options, *request, now_ns);
  if (!order) {
    return propagate(order);
  }
  std::error_code error;
  const std::string folder = std::filesystem::temp_directory_path(error).string();
  if (error) {
    return fail_errno(error.value(), "looking for the folder of temporary files (TMPDIR)");
  }
  const annotate::AnnotateProcess process(annotate_worker());
  auto annotation = process.make(*order, {.limits = annotate::kAnnotateLimits, .folder = folder});
  if (annotation) {
    // A server has them for its own answers.
    const std::string& data_dir = options.source.data_dir;
    annotate::read_sources(
        {.roots = *roots,
         .archive =
             data_dir.empty() ? std::string() : symbolizer::sources_path(data_dir, annotation->build_id)},
        *annotation);
  }
  return annotation;
}

Status check_annotate(const AnnotateOptions& options) {
  if (!is_named(options.source)) {
    return fail(ErrorCode::kInvalid, "annotate requires --server ADDR or --data DIR");
  }
  if (names_file(options.binary)) {
    return {};
  }
  if (options.binary.find('/') != std::string::npos && !options.debug.empty()) {
    return fail(ErrorCode::kNotFound, "there is no file {}", options.binary);
  }
  if (!options.debug.empty()) {
    return with_hint(
        with_field(fail(ErrorCode::kInvalid, "--debug requires a binary that is a file here"), "--debug"),
        "give --binary FILE");
  }
  if (!options.source.server.empty() && !options.source_roots.empty()) {
    return with_hint(
        with_field(fail(ErrorCode::kInvalid, "a server shows source text from its own sources.roots"),
                   "--source-root"),
        "give the binary with --binary FILE to annotate it here, or leave out --source-root");
  }
  return {};
}

}  // namespace

Status run_annotate(const AnnotateOptions& options) {
  if (auto checked = check_annotate(options); !checked) {
    return checked;
  }
  if (!options.source.server.empty() && !names_file(options.binary)) {
    const auto answer = ask_server(options.source, "/api/v1/annotate", parameters_of(options));
    return answer ? write_output("-", *answer) : propagate(answer);
  }
  const auto annotation = annotate_here(options);
  if (!annotation) {
    return propagate(annotation);
  }
  return write_output("-", options.is_json ? annotate::to_json(*annotation, options.order)
                                           : annotate::to_text(*annotation, options.order));
}

}  // namespace plimsoll::cli
