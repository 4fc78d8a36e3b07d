#include "query/registry/fdo_views.h"

#include "query/fdo/counts/count_binary.h"
#include "query/registry/answers.h"
#include "query/registry/common_parameters.h"

namespace plimsoll::query {
namespace {

// Without those that hide or choose frames: what is counted are addresses.
std::vector<ParameterSpec> row_filter_specs() {
  std::vector<ParameterSpec> specs = filter_specs();
  std::erase_if(specs, [](const ParameterSpec& spec) {
    return spec.name == "focus" || spec.name == "ignore" || spec.name == "hide";
  });
  return specs;
}

View fdo_counts_view() {
  return {
      .name = "fdo-counts",
      .command = "fdo-counts",
      .summary = "List samples and branches of one binary by ELF address, as compiler profiles need them",
      .details =
          R"(`plimsoll fdo` turns these counts into profiles for compilers and linkers (docs/fdo.md). Kinds of rows: binary (from: build
ID, to: path), elsewhere (samples of the same processes outside of the binary), time (from: the mean time of the samples,
to the hour), sample, branch (from and to), call (the caller and the sampled address), and sample-offset and
branch-offset, where a machine could not read the binary's program headers: file offsets instead of addresses.
)",
      .parameters =
          joined({{{.name = "build_id",
                    .kind = ValueKind::kText,
                    .help = "Build ID of the binary in hexadecimal digits; its first digits will do "
                            "where they are unique",
                    .is_positional = true},
                   event_spec()},
                  row_filter_specs(),
                  {{"calls", ValueKind::kFlag, "Add a row for each call on a sampled stack", "no"}}}),
      .columns = {{"kind", "", "What the row counts", kAlwaysShown},
                  {"from", "", "Address, build ID or time", kAlwaysShown},
                  {"to", "", "Address a branch or call led to, or the path", kAlwaysShown},
                  {"value", "{unit}", "Value of the samples or branches"},
                  {"samples", "count", "Samples behind it", kAlwaysShown},
                  {"value_of_half", "{unit}", "Value of a random half of the machines", kDetail},
                  {"machines", "count", "Machines with samples in the binary"},
                  {"draws", "count", "Draws that the profiles belong to", kDetail}},
      .examples = {{"plimsoll fdo-counts --data DIR BUILD_ID", "of one binary"},
                   {"plimsoll fdo-counts --data DIR BUILD_ID --where job=search --since 7d --csv",
                    "of one job, for a script"}},
      .answer = ask_profiles<fdo::parse_counts, fdo::fdo_counts>,
  };
}

}  // namespace

std::vector<View> fdo_views() {
  return {fdo_counts_view()};
}

}  // namespace plimsoll::query
