#include "formats/perf_data/import_recording.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/checksum.h"
#include "base/time.h"
#include "capture/identity/safe_open.h"
#include "capture/profile/profile_builder.h"
#include "capture/profile/sample_assembly.h"
#include "formats/perf_data/event_names.h"
#include "formats/perf_data/exec_inference.h"
#include "formats/perf_data/header_build_ids.h"
#include "formats/perf_data/machine_facts.h"
#include "formats/perf_data/record_stream.h"
#include "formats/perf_data/recorded_images.h"
#include "formats/perf_data/recorded_kernel.h"
#include "formats/perf_data/recorded_processes.h"
#include "formats/perf_data/recording_header.h"
#include "formats/perf_data/side_records.h"
#include "formats/perf_data/time_order.h"
#include "proto/profile_codec.h"

namespace plimsoll::perf_data {
namespace {

constexpr uint16_t kDefaultDeepestChain = 127;  // of the kernel, where the recording does not tell

uint16_t deepest_chain(const std::vector<RecordedEvent>& events) {
  const uint16_t told = events.front().attr.sample_max_stack;
  return told == 0 ? kDefaultDeepestChain : told;
}

bool tells_execs(const std::vector<RecordedEvent>& events) {
  return std::ranges::any_of(events, [](const RecordedEvent& event) { return event.attr.comm_exec; });
}

class Importer {
 public:
  Importer(BlockReader& file, const RecordingHeader& header, const RecordLayouts& layouts,
           const RecordingOptions& options, const Limits& limits, DamageLog& damage)
      : file_(file),
        damage_(damage),
        header_(header),
        metadata_(header.metadata),
        layouts_(layouts),
        options_(options),
        limits_(limits),
        can_unwind_(metadata_.architecture.empty() || metadata_.architecture == "x86_64"),
        guesses_execs_(!tells_execs(metadata_.events)),
        images_(options.folders, options.modified_ns),
        binaries_(images_),
        processes_(no_other_source_, binaries_, {}),
        kernel_(metadata_.build_ids, limits),
        user_stacks_(images_),
        assembly_(
            processes_, &kernel_, &user_stacks_, builder_, [](uint64_t) { return -1; },
            deepest_chain(metadata_.events)),
        tally_(metadata_.events, layouts, limits) {
    for (const RecordedBuildId& told : metadata_.build_ids) {
      if (!told.is_kernel) {
        build_ids_.add(told.path, told.build_id);
      }
    }
  }

  Result<ImportedRecording> import() {
    if (auto read = read_records(); !read) {
      return propagate(read);
    }
    std::vector<std::string> damage = damage_.lines(header_.records.size_bytes);
    std::vector<EventTally::Summary> events = tally_.summaries();
    const bool has_samples = std::ranges::any_of(events, [](const auto& event) { return event.samples > 0; });
    if (!damage.empty() && !has_samples) {
      return with_hint(
          fail(ErrorCode::kCorrupt, "nothing of the recording could be taken; {}", fmt::join(damage, "; ")),
          "copy it again, or record again and end `perf record` by Ctrl-C or SIGTERM");
    }
    wire::RawProfile profile;
    profile.set_format_version(wire::kFormatVersion);
    profile.set_profile_id(content_hash(as_bytes(options_.machine + '\0' + options_.job + '\0' +
                                                 (options_.platform.empty() ? "" : options_.platform + '\0') +
                                                 options_.content_id)));
    describe_machine(metadata_, options_.machine, kernel_.build_id(), *profile.mutable_machine());
    if (profile.machine().platform().empty()) {
      profile.mutable_machine()->set_platform(options_.platform);
    }
    if (auto set = set_window(metadata_, times_,
                              {options_.given_end_ns, 0, options_.modified_ns, options_.now_ns}, profile);
        !set) {
      return propagate(set);
    }
    profile.mutable_assignment()->set_id("import/" + profile.machine().id());
    tally_.write_events(profile);
    builder_.finish(profile);
    tally_.scale_hits(profile);
    finish(profile);
    for (const std::string& line : damage) {
      profile.add_notes(line);
    }
    return ImportedRecording{std::move(profile),
                             std::move(events),
                             {images_.replaced().begin(), images_.replaced().end()},
                             std::move(damage)};
  }

 private:
  Status read_records() {
    RecordStream stream(file_, header_.records, limits_, damage_,
                        [this](Bytes record, bool is_guess) { return check(record, is_guess); });
    TimeOrder order(limits_.max_waiting_bytes,
                    [this](const TimeOrder::Record& record) { return apply(record); });
    while (true) {
      const auto record = stream.next();
      if (!record) {
        return propagate(record);
      }
      if (record->bytes.empty()) {
        break;
      }
      const bool ends_round = record->header.type == static_cast<uint32_t>(RecordType::kFinishedRound);
      auto taken = ends_round ? order.finish_round()
                              : order.add(layouts_.time_ns(record->bytes), record->offset, record->bytes);
      if (!taken) {
        return taken;
      }
      if (options_.progress) {
        options_.progress(record->offset, file_.size_bytes());
      }
    }
    auto finished = order.finish();
    late_ = order.late();
    trace_bytes_ = stream.trace_bytes();
    return finished;
  }

  // Before it is put in order: a record that is not sound says nothing of where the next one begins.
  Status check(Bytes record, bool is_guess) {
    const auto header = ByteReader(record).read<perf_event_header>();
    if (layouts_.time_ns(record) >= static_cast<uint64_t>(kLatestNs)) {
      return fail(ErrorCode::kCorrupt, "it has an impossible time, {} ns", layouts_.time_ns(record));
    }
    if (header.type != PERF_RECORD_SAMPLE) {
      const auto decoded = decode_side_record(record, layouts_);
      return decoded ? Status() : propagate(decoded);
    }
    const auto event = layouts_.event_of_sample(record);
    if (!event) {
      return is_guess ? fail(ErrorCode::kCorrupt, "it is a sample of no event") : Status();
    }
    const char* const name = metadata_.events[*event].name.c_str();
    if (!decode_sample(record, metadata_.events[*event].attr, can_unwind_, checked_sample_)) {
      return fail(ErrorCode::kCorrupt, "it ends before the fields of a sample of {} do", name);
    }
    if (checked_sample_.period > EventTally::kMaxOccurrences) {
      return fail(ErrorCode::kCorrupt, "it stands for {} occurrences of {}", checked_sample_.period, name);
    }
    return checked_sample_.unread_bytes == 0
               ? Status()
               : fail(ErrorCode::kCorrupt, "{} bytes follow the fields of a sample of {}",
                      checked_sample_.unread_bytes, name);
  }

  Status apply(const TimeOrder::Record& record) {
    const Bytes bytes = as_bytes(record.bytes);
    const auto header = ByteReader(bytes).read<perf_event_header>();
    const auto applied = header.type == PERF_RECORD_SAMPLE ? apply_sample(bytes, record.time_ns)
                                                           : apply_other(bytes, record.time_ns);
    return applied ? applied
                   : propagate(applied, "the record at offset {}, of type {} and {} bytes", record.offset,
                               header.type, bytes.size());
  }

  Status apply_sample(Bytes bytes, uint64_t time_ns) {
    const auto event = layouts_.event_of_sample(bytes);
    if (!event) {
      ++samples_of_unknown_events_;
      return {};
    }
    if (!decode_sample(bytes, metadata_.events[*event].attr, can_unwind_, sample_)) {
      return fail(ErrorCode::kCorrupt, "it ends before the fields of a sample of {} do",
                  metadata_.events[*event].name);
    }
    times_.add(time_ns);
    if (auto counted = tally_.add(*event, sample_, weights_); !counted) {
      return counted;
    }
    if (sample_.is_of_guest) {
      sample_.record.callchain.clear();
      sample_.record.is_leaf_only = true;
      // Those are the host's process's, and the guest's addresses are nowhere in it.
      sample_.record.user_abi = PERF_SAMPLE_REGS_ABI_NONE;
      sample_.branches.clear();
      sample_.has_leaf_alone = false;
      ++samples_of_guests_;
    }
    bound_tables();
    learn_from_sample();
    // Of others the assembly counts it.
    if (sample_.has_leaf_alone && !sample_.is_in_kernel &&
        sample_.record.user_abi == PERF_SAMPLE_REGS_ABI_NONE) {
      builder_.count_problem(wire::NO_USER_STACK);
    }
    const SampleAssembly::Subject subject = assembly_.find_subject(sample_.record);
    for (const Weight& weight : weights_) {
      builder_.add_weighted_sample(weight.event, subject.thread, subject.stack, weight.occurrences);
    }
    assembly_.add_branches(subject.thread, sample_.record.pid, sample_.branches);
    if (sample_.has_all_branches) {
      assembly_.add_branch_ranges(subject.thread, sample_.record.pid, sample_.branches);
    }
    return {};
  }

  // A recording has no windows, between which the daemon does that; beyond twice the bound no table would be read.
  void bound_tables() {
    if (user_stacks_.table_bytes() > 2 * UserStacks::kDefaultTableBytes) {
      user_stacks_.trim();
    }
  }

  // A thread of the kernel maps nothing, and old recordings do not tell whose child it is.
  void learn_from_sample() {
    if (sample_.record.pid == kUnknownPid) {
      return;
    }
    const identity::Process& process = processes_.find(sample_.record.pid);
    if (sample_.is_in_kernel && process.mappings->all().empty() && process.identity->executable.empty()) {
      process.identity->executable = identity::kKernelExecutable;
    }
  }

  Status apply_other(Bytes bytes, uint64_t time_ns) {
    auto decoded = decode_side_record(bytes, layouts_);
    if (!decoded) {
      return propagate(decoded);
    }
    time_ns_ = static_cast<int64_t>(std::min<uint64_t>(time_ns, INT64_MAX));
    std::visit([this](auto& record) { apply(record); }, *decoded);
    return {};
  }

  void apply(std::monostate /*nothing*/) {}
  void apply(const KernelMmapRecord& record) { kernel_.apply(record); }
  void apply(const KernelSymbolRecord& record) { kernel_.apply(record); }
  void apply(const LostRecord& record) { tally_.add_lost(record); }
  void apply(const ThrottledRecord& record) { tally_.add_throttle(record.event); }
  void apply(const perf::ForkRecord& record) { processes_.apply({time_ns_, record}); }
  void apply(const perf::ExitRecord& record) { processes_.apply({time_ns_, record}); }
  void apply(const perf::CgroupRecord& record) { processes_.apply({time_ns_, record}); }

  void apply(const perf::CommRecord& record) {
    // At the begin of the recording nobody ran a program: those are names that processes had.
    if (guesses_execs_ && time_ns_ != 0) {
      exec_inference_.see(record);
    }
    processes_.apply({time_ns_, record});
  }

  void apply(perf::MmapRecord& record) {
    if (const auto exec = exec_inference_.see(record)) {
      processes_.apply({time_ns_, *exec});
    }
    if (record.build_id.empty()) {
      record.build_id = build_ids_.of(record.path);
    }
    processes_.apply({time_ns_, std::move(record)});
  }

  void finish(wire::RawProfile& profile) {
    for (wire::Process& process : *profile.mutable_processes()) {
      if (!processes_.knows_cgroups()) {
        process.clear_cgroup();
        process.clear_instance();
      }
      if (!options_.job.empty() && process.executable() != identity::kKernelExecutable) {
        process.set_job(options_.job);
      }
    }
    profile.set_lost_side_band(tally_.lost_without_event());
    add_notes(profile);
    const bool is_running_kernel = options_.running_kernel && !kernel_.build_id().empty() &&
                                   kernel_.build_id() == identity::running_kernel_build_id();
    const identity::KernelMap* const symbols = is_running_kernel ? options_.running_kernel() : nullptr;
    if (symbols != nullptr) {
      add_kernel_symbols(*symbols, profile);
    }
  }

  void add_notes(wire::RawProfile& profile) const {
    for (const std::string& of_group : group_notes(metadata_)) {
      profile.add_notes(of_group);
    }
    const auto note = [&](uint64_t count, std::string_view what) {
      if (count > 0) {
        profile.add_notes(fmt::format("{} {}", count, what));
      }
    };
    note(samples_of_unknown_events_, "samples belong to no event of the recording and are not imported");
    note(samples_of_guests_, "samples were taken in virtual machines, and have no stack");
    note(trace_bytes_,
         "bytes of processor trace are not imported: convert them to samples with perf inject --itrace");
    note(tally_.lost_without_event(), "records of unknown events were lost");
    note(late_, "records are too far out of time order");
    note(build_ids_.ambiguous() + kernel_.ambiguous_build_ids(),
         "files have several build IDs in the recording, so that none is used");
    if (layouts_.lacks_ids()) {
      profile.add_notes("samples have no event ID: all count for " + metadata_.events.front().name);
    }
  }

  BlockReader& file_;
  DamageLog& damage_;
  const RecordingHeader& header_;
  const Metadata& metadata_;
  const RecordLayouts& layouts_;
  const RecordingOptions& options_;
  const Limits& limits_;
  const bool can_unwind_;
  const bool guesses_execs_;
  const RecordedProcesses no_other_source_;
  const RecordedImages images_;
  identity::BinaryTable binaries_;
  identity::ProcessTable processes_;
  RecordedKernel kernel_;
  UserStacks user_stacks_;
  ProfileBuilder builder_;
  SampleAssembly assembly_;
  EventTally tally_;
  ExecInference exec_inference_;
  HeaderBuildIds build_ids_;  // of files, by path
  SampleTimes times_;
  DecodedSample sample_;
  DecodedSample checked_sample_;
  std::vector<Weight> weights_;
  int64_t time_ns_ = 0;  // of the record that is being applied
  uint64_t samples_of_unknown_events_ = 0;
  uint64_t samples_of_guests_ = 0;
  uint64_t late_ = 0;
  uint64_t trace_bytes_ = 0;
};

}  // namespace

Result<ImportedRecording> import_recording(BlockReader& file, const RecordingOptions& options,
                                           const Limits& limits) {
  DamageLog damage;
  const auto header = read_recording_header(file, limits, damage);
  if (!header) {
    return propagate(header);
  }
  const auto layouts = RecordLayouts::make(header->metadata.events);
  if (!layouts) {
    return propagate(layouts);
  }
  return Importer(file, *header, *layouts, options, limits, damage).import();
}

Result<OpenRecording> open_recording(const std::string& path) {
  auto opened = identity::open_regular_file(path);
  if (!opened) {
    return propagate(opened);
  }
  return open_recording(std::make_shared<const UniqueFd>(std::move(*opened)), path);
}

Result<OpenRecording> open_recording(std::shared_ptr<const UniqueFd> fd, const std::string& name) {
  struct stat info{};
  if (::fstat(fd->get(), &info) != 0) {
    return fail_errno(errno, "asking about {}", name);
  }
  int64_t modified_ns = 0;
  if (__builtin_mul_overflow(info.st_mtim.tv_sec, kNsPerSecond, &modified_ns)) {
    modified_ns = 0;
  }
  const auto content_id = content_hash_of_file(*fd, name, UINT64_MAX);
  if (!content_id) {
    return propagate(content_id);
  }
  return OpenRecording{BlockReader(elf::read_at_of(std::move(fd), name), static_cast<uint64_t>(info.st_size)),
                       *content_id, modified_ns};
}

}  // namespace plimsoll::perf_data
