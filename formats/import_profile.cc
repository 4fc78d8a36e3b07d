#include "formats/import_profile.h"

#include <algorithm>

#include "base/checksum.h"
#include "base/claimed_time.h"
#include "base/printable.h"
#include "formats/read_profile.h"
#include "formats/to_raw_profile.h"
#include "proto/profile_codec.h"

namespace plimsoll::formats {
namespace {

constexpr size_t kMaxLabelBytes = 128;
// As wire::validate() permits: in the year 2096.
constexpr int64_t kLatestNs = 4'000'000'000LL * 1'000'000'000LL - 1;

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// 16 bytes.
std::string id_of(Bytes content, const ImportLabels& labels) {
  const std::string platform = labels.platform.empty() ? "" : labels.platform + '\0';
  const std::string named = labels.machine + '\0' + labels.job + '\0' + platform + content_hash(content);
  return content_hash(as_bytes(named));
}

void set_window(const ApplicationProfile& application, const ImportLabels& labels, wire::RawProfile& raw) {
  // Windows have a length: a snapshot's is the shortest there is.
  const int64_t length_ns = std::max<int64_t>(1, application.duration_ns);
  int64_t told_end_ns = 0;
  if (application.time_ns != 0 && __builtin_add_overflow(application.time_ns, length_ns, &told_end_ns)) {
    told_end_ns = INT64_MAX;
  }
  const ChosenTime chosen =
      choose_end_time({labels.given_end_ns, told_end_ns, labels.modified_ns, labels.now_ns});
  const int64_t start_ns = std::max<int64_t>(1, chosen.end_ns - length_ns);
  if (!chosen.note.empty()) {
    raw.add_notes(chosen.note);
  }
  wire::Window& window = *raw.mutable_window();
  window.mutable_start()->set_wall_ns(start_ns);
  window.mutable_end()->set_wall_ns(start_ns + length_ns);
  window.mutable_end()->set_monotonic_ns(length_ns);
}

void set_process(const ApplicationProfile& application, const ImportLabels& labels, wire::RawProfile& raw) {
  const auto main = std::ranges::find_if(
      application.mappings, [](const Mapping& mapping) { return !base_name(mapping.path).empty(); });
  wire::Process& process = *raw.add_processes();
  std::string name = printable(base_name(labels.file_name));
  if (main != application.mappings.end()) {
    process.set_executable(main->path);
    name = base_name(main->path);
  }
  process.set_comm(name);
  process.set_job(labels.job.empty() ? name : labels.job);
  raw.add_threads()->set_name(name);
}

}  // namespace

Status check_labels(const ImportLabels& labels) {
  const auto check = [](const std::string& text, bool may_be_empty, const char* flag) -> Status {
    if ((text.empty() && !may_be_empty) || text.size() > kMaxLabelBytes || printable(text) != text) {
      return with_field(fail(ErrorCode::kInvalid, "\"{}\" is not a name of 1 to {} printable bytes",
                             printable(text.substr(0, kMaxLabelBytes)), kMaxLabelBytes),
                        flag);
    }
    return {};
  };
  auto checked = check(labels.machine, false, "--machine");
  checked = checked ? check(labels.job, true, "--job") : checked;
  return checked ? check(labels.platform, true, "--platform") : checked;
}

Result<wire::RawProfile> import_profile(Bytes content, const ImportLabels& labels, const Limits& limits) {
  if (auto checked = check_labels(labels); !checked) {
    return propagate(checked);
  }
  const auto application = read_profile(content, limits);
  if (!application) {
    return propagate(application);
  }
  // Both are at least 0. A time that cannot be is replaced where there is a clock to check it by.
  const bool is_replaced = labels.given_end_ns != 0 || labels.now_ns != 0;
  if (application->duration_ns > kLatestNs ||
      (!is_replaced && application->time_ns > kLatestNs - application->duration_ns)) {
    return fail(ErrorCode::kCorrupt, "the profile began at {} ns and took {} ns", application->time_ns,
                application->duration_ns);
  }
  wire::RawProfile raw;
  raw.set_format_version(wire::kFormatVersion);
  raw.set_profile_id(id_of(content, labels));
  raw.mutable_machine()->set_id(labels.machine);
  raw.mutable_machine()->set_hostname(labels.machine);
  raw.mutable_machine()->set_platform(labels.platform);
  set_window(*application, labels, raw);
  set_process(*application, labels, raw);
  // Snapshots of one job are one series: a view shows their mean.
  raw.mutable_assignment()->set_id("import/" + raw.processes(0).job());
  OwnMappings places(application->mappings);
  if (auto added = add_samples(*application, places, raw); !added) {
    return propagate(added);
  }
  for (const std::string& remark : application->remarks) {
    raw.add_notes(remark);
  }
  if (application->discarded != 0) {
    raw.add_notes(fmt::format("the application dropped {} samples", application->discarded));
  }
  return raw;
}

}  // namespace plimsoll::formats
