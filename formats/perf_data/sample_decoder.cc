#include <algorithm>
#include <bit>

#include "formats/perf_data/sample_layout.h"

namespace plimsoll::perf_data {
namespace {

constexpr uint64_t kBranchCounters = uint64_t{1} << 19U;  // PERF_SAMPLE_BRANCH_COUNTERS, since Linux 6.8

// A length from the file: false, and the reader failed, where that many are not there.
bool holds(ByteReader& reader, uint64_t count, size_t entry_bytes) {
  if (count > reader.remaining() / entry_bytes) {
    reader.skip(UINT64_MAX);
  }
  return reader.ok();
}

class SampleDecoder {
 public:
  SampleDecoder(ByteReader& reader, const perf_event_attr& attr, bool unwinds, DecodedSample& sample)
      : reader_(reader), attr_(attr), unwinds_(unwinds), sample_(sample) {}

  void decode() {
    read_identity();
    if (has(PERF_SAMPLE_READ)) {
      read_counters();
    }
    if (has(PERF_SAMPLE_CALLCHAIN)) {
      read_call_chain();
    }
    if (has(PERF_SAMPLE_RAW)) {
      reader_.skip(reader_.read<uint32_t>());
    }
    if (has(PERF_SAMPLE_BRANCH_STACK)) {
      read_branches();
    }
    if (has(PERF_SAMPLE_REGS_USER)) {
      read_user_registers();
    }
    if (has(PERF_SAMPLE_STACK_USER)) {
      read_user_stack();
    }
    read_rest();
  }

 private:
  bool has(uint64_t field) const { return (attr_.sample_type & field) != 0; }

  uint64_t word_if(uint64_t field) { return has(field) ? reader_.read<uint64_t>() : 0; }

  void read_identity() {
    const uint64_t identifier = word_if(PERF_SAMPLE_IDENTIFIER);
    sample_.record.ip = word_if(PERF_SAMPLE_IP);
    if (has(PERF_SAMPLE_TID)) {
      sample_.record.pid = reader_.read<uint32_t>();
      sample_.record.tid = reader_.read<uint32_t>();
    }
    word_if(PERF_SAMPLE_TIME);
    word_if(PERF_SAMPLE_ADDR);
    const uint64_t id = word_if(PERF_SAMPLE_ID);
    sample_.record.event_id = has(PERF_SAMPLE_IDENTIFIER) ? identifier : id;
    word_if(PERF_SAMPLE_STREAM_ID);
    word_if(PERF_SAMPLE_CPU);
    sample_.period = word_if(PERF_SAMPLE_PERIOD);
  }

  // {value; enabled; running; id; lost} or {count; enabled; running; {value; id; lost}[count]}, as read_format has them.
  void read_counters() {
    const uint64_t format = attr_.read_format;
    const bool is_group = (format & PERF_FORMAT_GROUP) != 0;
    const uint64_t first = reader_.read<uint64_t>();
    const size_t times = static_cast<size_t>(
        std::popcount(format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)));
    reader_.skip(times * sizeof(uint64_t));
    const size_t extra = static_cast<size_t>(std::popcount(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST)));
    const uint64_t count = is_group ? first : 1;
    if (is_group && !holds(reader_, count, (1 + extra) * sizeof(uint64_t))) {
      return;
    }
    for (uint64_t i = 0; i < count; ++i) {
      CounterReading reading{is_group ? reader_.read<uint64_t>() : first, 0};
      reading.id = (format & PERF_FORMAT_ID) != 0 ? reader_.read<uint64_t>() : 0;
      reader_.skip((format & PERF_FORMAT_LOST) != 0 ? sizeof(uint64_t) : 0);
      sample_.readings.push_back(reading);
    }
  }

  void read_call_chain() {
    const auto depth = reader_.read<uint64_t>();
    if (!holds(reader_, depth, sizeof(uint64_t))) {
      return;
    }
    sample_.record.is_leaf_only = false;
    for (uint64_t i = 0; i < depth; ++i) {
      sample_.record.callchain.push_back(reader_.read<uint64_t>());
    }
  }

  // {count; hw_index if asked for; {from; to; flags}[count]; a word of counters for each if asked for}
  void read_branches() {
    sample_.has_all_branches = (attr_.branch_sample_type & PERF_SAMPLE_BRANCH_ANY) != 0;
    const auto count = reader_.read<uint64_t>();
    if ((attr_.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) != 0) {
      reader_.skip(sizeof(uint64_t));
    }
    if (!holds(reader_, count, sizeof(perf::BranchEntry))) {
      return;
    }
    for (uint64_t i = 0; i < count; ++i) {
      if (const auto branch = perf::taken_branch(reader_.read<perf::BranchEntry>())) {
        sample_.branches.push_back(*branch);
      }
    }
    if ((attr_.branch_sample_type & kBranchCounters) != 0) {
      reader_.skip(count * sizeof(uint64_t));
    }
  }

  // A word for each bit of sample_regs_user; those that stacks are unwound with are kept, in their own order.
  void read_user_registers() {
    const auto abi = reader_.read<uint64_t>();
    if (abi == PERF_SAMPLE_REGS_ABI_NONE) {
      return;
    }
    const uint64_t mask = attr_.sample_regs_user;
    size_t kept = 0;
    for (uint64_t bits = mask; bits != 0; bits &= bits - 1) {
      const uint64_t bit = bits & -bits;
      const auto value = reader_.read<uint64_t>();
      if ((bit & perf::kUserRegisterMask) != 0) {
        sample_.record.user_registers[kept++] = value;
      }
    }
    const bool is_whole = (mask & perf::kUserRegisterMask) == perf::kUserRegisterMask;
    if (unwinds_ && is_whole && has(PERF_SAMPLE_STACK_USER)) {
      sample_.record.user_abi = abi;
    }
  }

  // {size; bytes[size]; how many of them were captured}, or just a size of 0.
  void read_user_stack() {
    const auto reserved_bytes = reader_.read<uint64_t>();
    if (reserved_bytes == 0) {
      return;
    }
    const Bytes reserved = reader_.bytes(reserved_bytes);
    const auto captured_bytes = reader_.read<uint64_t>();
    sample_.record.user_stack =
        reserved.first(static_cast<size_t>(std::min<uint64_t>(captured_bytes, reserved.size())));
    sample_.record.user_stack_is_cut = captured_bytes >= reserved.size();
  }

  void read_rest() {
    word_if(PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT);
    word_if(PERF_SAMPLE_DATA_SRC);
    word_if(PERF_SAMPLE_TRANSACTION);
    if (has(PERF_SAMPLE_REGS_INTR) && reader_.read<uint64_t>() != PERF_SAMPLE_REGS_ABI_NONE) {
      reader_.skip(sizeof(uint64_t) * static_cast<size_t>(std::popcount(uint64_t{attr_.sample_regs_intr})));
    }
    word_if(PERF_SAMPLE_PHYS_ADDR);
    sample_.record.cgroup = word_if(PERF_SAMPLE_CGROUP);
    word_if(PERF_SAMPLE_DATA_PAGE_SIZE);
    word_if(PERF_SAMPLE_CODE_PAGE_SIZE);
    if (has(PERF_SAMPLE_AUX)) {
      reader_.skip(reader_.read<uint64_t>());
    }
  }

  ByteReader& reader_;
  const perf_event_attr& attr_;
  const bool unwinds_;
  DecodedSample& sample_;
};

void clear(DecodedSample& sample) {
  std::vector<uint64_t> callchain = std::move(sample.record.callchain);
  callchain.clear();
  sample.record = {};
  sample.record.callchain = std::move(callchain);
  sample.record.is_leaf_only = true;
  sample.record.pid = kUnknownPid;
  sample.record.tid = kUnknownPid;
  sample.has_leaf_alone = false;
  sample.period = 0;
  sample.readings.clear();
  sample.branches.clear();
}

// Branch records that follow calls and returns are the stack of user mode, leaf first: each `from` is a call.
void add_hardware_stack(DecodedSample& sample) {
  std::vector<uint64_t>& chain = sample.record.callchain;
  const auto user = std::ranges::find(chain, static_cast<uint64_t>(PERF_CONTEXT_USER));
  const uint64_t leaf = user == chain.end() || user + 1 == chain.end()
                            ? (sample.branches.empty() ? sample.record.ip : sample.branches.front().to)
                            : *(user + 1);
  chain.erase(user, chain.end());
  chain.insert(chain.end(), {static_cast<uint64_t>(PERF_CONTEXT_USER), leaf});
  for (const perf::BranchRecord& branch : sample.branches) {
    chain.push_back(branch.from + 1);  // as if it returned behind the call's first byte
  }
  sample.branches.clear();
  sample.record.is_leaf_only = false;
  sample.has_leaf_alone = false;
}

void set_mode(uint16_t misc, DecodedSample& sample) {
  const uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
  const bool is_upper_half = sample.record.ip > UINT64_MAX / 2;
  sample.is_in_kernel =
      mode == PERF_RECORD_MISC_KERNEL || (mode == PERF_RECORD_MISC_CPUMODE_UNKNOWN && is_upper_half);
  sample.is_of_guest = mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER;
}

// Where the kernel found no frame, the sample still says where the thread was; a copy of the stack says it by its registers.
void set_leaf(uint16_t misc, DecodedSample& sample) {
  std::vector<uint64_t>& chain = sample.record.callchain;
  const auto mark = static_cast<uint64_t>(sample.is_in_kernel ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER);
  const auto is_address = [](uint64_t entry) { return entry < static_cast<uint64_t>(PERF_CONTEXT_MAX); };
  if (std::ranges::none_of(chain, is_address)) {
    const bool is_unwound = !sample.record.is_leaf_only && sample.record.user_abi == PERF_SAMPLE_REGS_ABI_64;
    if (!is_unwound) {
      chain = {mark, sample.record.ip};
      sample.has_leaf_alone = !sample.record.is_leaf_only;
    }
    return;
  }
  // The chain begins where the interrupt came, some instructions behind the precise place.
  const auto part = std::ranges::find(chain, mark);
  const bool has_leaf = part != chain.end() && part + 1 != chain.end() && is_address(*(part + 1));
  if ((misc & PERF_RECORD_MISC_EXACT_IP) != 0 && has_leaf) {
    *(part + 1) = sample.record.ip;
  }
}

}  // namespace

bool decode_sample(Bytes record, const perf_event_attr& attr, bool unwinds, DecodedSample& sample) {
  clear(sample);
  ByteReader reader(record);
  const auto header = reader.read<perf_event_header>();
  SampleDecoder(reader, attr, unwinds, sample).decode();
  sample.unread_bytes = reader.ok() ? reader.remaining() : 0;
  set_mode(header.misc, sample);
  if ((attr.sample_type & PERF_SAMPLE_IP) != 0) {
    set_leaf(header.misc, sample);
  }
  if ((attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK) != 0 && !sample.branches.empty()) {
    add_hardware_stack(sample);
  }
  return reader.ok();
}

}  // namespace plimsoll::perf_data
