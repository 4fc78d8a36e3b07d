#include "appprof/heap.h"

#include <dlfcn.h>
#include <gperftools/malloc_extension.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "appprof/mappings.h"
#include "appprof/own_code.h"
#include "appprof/site_table.h"
#include "appprof/text_sink.h"
#include "appprof/thread_state.h"

// Weak: the library works without tcmalloc, and says what is missing.
extern "C" {
__attribute__((weak)) MallocExtension* appprof_malloc_extension() __asm__("_ZN15MallocExtension8instanceEv");
// FLAGS_tcmalloc_sample_parameter, which tcmalloc reads at each sample; 0: off. The environment sets it before main() alone.
extern __attribute__((weak)) int64_t appprof_sample_parameter __asm__(
    "_ZN61FLAG__namespace_do_not_use_directly_use_DECLARE_int64_instead31FLAGS_tcmalloc_sample_parameterE");
}

namespace plimsoll::appprof {
namespace {

constexpr size_t kFirstDistance = size_t{16} << 20;  // that tcmalloc draws for a thread while sampling is off
constexpr size_t kLargestClass = size_t{256} << 10;

constinit SiteTable g_allocations;
constinit SampleLimit g_limit;
constinit std::atomic<bool> g_allocations_on{false};
constinit std::atomic<int64_t> g_allocations_began_ns{
    0};  // monotonic: a clock that is set changes no duration
// Whether tcmalloc's stacks pass through here, and whether one did for a sample.
constinit std::atomic<bool> g_is_stack_shared{false};
constinit std::atomic<bool> g_was_stack_shared{false};

using RecordSlow = bool (*)(void*, size_t);
constinit std::atomic<RecordSlow> g_record_slow{nullptr};

constexpr const char* kRecordSlow = "_ZN8tcmalloc7Sampler20RecordAllocationSlowEm";

}  // namespace

static double doubled(double period, int doublings) noexcept {
  return std::ldexp(period, doublings);
}

static void add_sample(HeapSample sample, std::span<const uintptr_t> frames, uint32_t labels) noexcept {
  if (!g_allocations_on.load(std::memory_order_relaxed)) {
    return;
  }
  const auto amount = static_cast<double>(sample.bytes);
  const double weight =
      weight_of_sample(amount, doubled(static_cast<double>(appprof_sample_parameter), sample.doublings));
  g_allocations.add(frames, labels, weight, weight * amount);
}

// Whether the sample's stack is to be taken here, since tcmalloc's does not serve.
static bool needs_own_stack(HeapSample sample) noexcept {
  const bool is_shared = g_is_stack_shared.load(std::memory_order_relaxed);
  const HeapSample left = std::exchange(t_state.heap_sample, is_shared ? sample : HeapSample{});
  if (left.bytes == 0) {
    return !is_shared;
  }
  // For the sample before no stack came: its bytes count all the same, also where another thread has found since that none
  // come. Only the last sample of a thread is lost.
  add_sample(left, {}, 0);
  if (!is_shared) {
    return true;
  }
  if (g_was_stack_shared.load(std::memory_order_relaxed)) {
    return false;
  }
  // Where none ever came, this tcmalloc takes them otherwise.
  g_is_stack_shared.store(false, std::memory_order_relaxed);
  t_state.heap_sample = {};
  return true;
}

// How often the period of a sample of now is doubled. Only where the block can keep a note of it.
static int doublings_now(int64_t now_ns) noexcept {
  return g_was_stack_shared.load(std::memory_order_relaxed) ? g_limit.doublings(now_ns) : 0;
}

static bool is_sample_of_doubled(size_t bytes, int doublings) noexcept {
  ThreadState& state = t_state;
  if (!state.are_heap_choices_seeded) {
    state.heap_choices = RandomBits(seed_for_thread(&state.heap_choices));
    state.are_heap_choices_seeded = true;
  }
  const auto period = static_cast<double>(appprof_sample_parameter);
  return is_sample_of_longer(static_cast<double>(bytes), period, doubled(period, doublings),
                             state.heap_choices);
}

// The countdown of this thread has run out, within malloc, before the allocation; no lock of tcmalloc is held. Whether it is a
// sample for tcmalloc, too.
static bool record_allocation(size_t bytes, uintptr_t caller) noexcept {
  if (t_state.is_inside) {
    return true;
  }
  const Inside inside;
  const int64_t now_ns = monotonic_ns();
  const int doublings = doublings_now(now_ns);
  bytes = std::max<size_t>(bytes, 1);
  if (doublings != 0 && !is_sample_of_doubled(bytes, doublings)) {
    return false;
  }
  g_limit.add_sample(now_ns);
  const HeapSample sample{bytes, static_cast<uint8_t>(doublings)};
  if (needs_own_stack(sample) && g_allocations_on.load(std::memory_order_relaxed)) {
    uintptr_t frames[kMaxFrames];
    const size_t depth = take_stack(frames, kMaxFrames, caller);
    add_sample(sample, {frames, depth}, current_labels());
  }
  return true;
}

uint8_t take_sampled_stack(std::span<const uintptr_t> frames, uint32_t labels) noexcept {
  const HeapSample sample = std::exchange(t_state.heap_sample, {});
  if (sample.bytes == 0) {
    return 0;
  }
  // Read first: a store each time would move the line from CPU to CPU.
  if (!g_was_stack_shared.load(std::memory_order_relaxed)) {
    g_was_stack_shared.store(true, std::memory_order_relaxed);
  }
  add_sample(sample, frames, labels);
  return sample.doublings;
}

static RecordSlow real_record_slow() noexcept {
  RecordSlow real = g_record_slow.load(std::memory_order_relaxed);
  if (real == nullptr) {
    real = reinterpret_cast<RecordSlow>(::dlsym(RTLD_NEXT, kRecordSlow));
    g_record_slow.store(real, std::memory_order_relaxed);
  }
  return real;
}

// Before the first sample, which may come while another thread holds the loader's lock.
[[gnu::constructor(101)]] static void find_record_slow() noexcept {
  real_record_slow();
}

// tcmalloc::Sampler::RecordAllocationSlow(size_t): false: a sample. Weak, so that a static tcmalloc keeps its own.
extern "C" __attribute__((weak, visibility("default"), noinline)) bool appprof_record_slow(
    void* sampler, size_t bytes) noexcept __asm__("_ZN8tcmalloc7Sampler20RecordAllocationSlowEm");
bool appprof_record_slow(void* sampler, size_t bytes) noexcept {
  const RecordSlow real = real_record_slow();
  if (real == nullptr || real(sampler, bytes)) {
    return true;
  }
  return !record_allocation(bytes, reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}

bool is_tcmalloc() noexcept {
  if (&appprof_malloc_extension == nullptr || &appprof_sample_parameter == nullptr) {
    return false;
  }
  void* volatile block = std::malloc(1);
  const bool is_owned = appprof_malloc_extension()->GetOwnership(block) == MallocExtension::kOwned;
  std::free(block);
  return is_owned;
}

std::string why_no_heap() {
  if (!is_tcmalloc()) {
    return "tcmalloc is not the allocator of this process, or is libtcmalloc_minimal, which takes no "
           "samples: link "
           "gperftools' libtcmalloc, or preload it too\n";
  }
  if (appprof_sample_parameter <= 0) {
    return "tcmalloc takes no samples: the heap was left out at the start, and TCMALLOC_SAMPLE_PARAMETER is "
           "not "
           "set\n";
  }
  return {};
}

std::string why_no_allocations() {
  std::string why = why_no_heap();
  if (why.empty() && (!is_replaced_here(kRecordSlow) || real_record_slow() == nullptr)) {
    why = "tcmalloc's samples are not seen: this library must be linked or preloaded before libtcmalloc.so\n";
  }
  return why;
}

std::string start_heap(uint64_t period_bytes, uint32_t max_samples_per_second) {
  if (!is_tcmalloc()) {
    return why_no_heap();
  }
  if (!g_allocations.allocate()) {
    return "allocations are not counted: no memory for the table of sites";
  }
  if (appprof_sample_parameter <= 0) {
    appprof_sample_parameter = static_cast<int64_t>(period_bytes);
    // An allocation over the distance of before draws a new one. It is never touched: addresses, and no memory.
    void* volatile block = std::malloc(kFirstDistance + 1);
    std::free(block);
  }
  g_limit.set_max_per_second(max_samples_per_second);
  int64_t never = 0;
  g_allocations_began_ns.compare_exchange_strong(never, monotonic_ns());
  g_is_stack_shared.store(are_heap_stacks_ours(), std::memory_order_relaxed);
  g_allocations_on.store(true, std::memory_order_release);
  return why_no_allocations();
}

// tcmalloc goes on with its samples: those of blocks in use would be missing after the next start.
void stop_heap() noexcept {
  g_allocations_on.store(false, std::memory_order_release);
}

void reset_heap_in_child() noexcept {
  stop_heap();
  t_state.heap_sample = {};
  g_limit.clear();
  g_allocations.clear_in_child();
  g_allocations_began_ns.store(0);
}

namespace {

// Entries of tcmalloc's arrays: count, size, depth, stack; ended by a count of 0.
template <typename Visit>
void for_each_entry(void** entries, Visit visit) {
  const auto word = [](const void* entry) { return reinterpret_cast<uintptr_t>(entry); };
  for (void** at = entries; at != nullptr && word(at[0]) != 0; at += 3 + word(at[2])) {
    visit(word(at[0]), word(at[1]), std::span<void*>(at + 3, word(at[2])));
  }
}

// Takes it off the stack, where it is the last frame.
StackNote take_note(std::span<void*>& stack) {
  const StackNote note =
      stack.empty() ? StackNote{} : note_of_frame(reinterpret_cast<uintptr_t>(stack.back()));
  if (note != StackNote{}) {
    stack = stack.first(stack.size() - 1);
  }
  return note;
}

Sample sample_of(std::span<void*> stack, uint32_t labels, double count, double bytes) {
  Sample sample;
  for (const void* frame : stack) {
    sample.stack.push_back(reinterpret_cast<uintptr_t>(frame));
  }
  if (labels != 0) {
    sample.labels = labels_of(labels);
  }
  sample.values = {count, bytes};
  return sample;
}

// visit(count, bytes, stack) in samples of one period, by which readers of the text weight all; stacks without notes. Count and bytes are
// multiplied alike: readers divide them to know the size. The same for the same random bits.
template <typename Visit>
void for_each_line(void** entries, uint64_t period, RandomBits choices, Visit visit) {
  for_each_entry(entries, [&](uintptr_t count, uintptr_t bytes, std::span<void*> stack) {
    const StackNote note = take_note(stack);
    uint64_t samples = 1;
    if (note.doublings != 0 && period != 0) {
      const double size = static_cast<double>(bytes) / static_cast<double>(count);
      const auto undoubled = static_cast<double>(period);
      samples = samples_of_shorter(size, undoubled, doubled(undoubled, note.doublings), choices);
    }
    visit(samples * count, samples * bytes, stack);
  });
}

// tcmalloc's text of such entries, as google-pprof reads it. tcmalloc's own would show notes as frames.
template <typename Sink>
void write_entries(void** entries, std::string_view kind, uint64_t period, Sink& sink) {
  const RandomBits choices(seed_for_thread(&sink));
  uint64_t all_count = 0, all_bytes = 0;
  for_each_line(entries, period, choices, [&](uint64_t count, uint64_t bytes, std::span<void*>) {
    all_count += count;
    all_bytes += bytes;
  });
  const auto write_sums = [&sink](uint64_t count, uint64_t bytes) {
    for (const char* behind : {" [", "] @"}) {
      write_number(sink, count);
      sink.text(": ");
      write_number(sink, bytes);
      sink.text(behind);
    }
  };
  sink.text("heap profile: ");
  write_sums(all_count, all_bytes);
  sink.text(" ");
  sink.text(kind);
  if (period != 0) {
    sink.text("/");
    write_number(sink, period);
  }
  sink.text("\n");
  for_each_line(entries, period, choices, [&](uint64_t count, uint64_t bytes, std::span<void*> stack) {
    write_sums(count, bytes);
    for (const void* frame : stack) {
      sink.text(" 0x");
      write_number(sink, reinterpret_cast<uintptr_t>(frame), 16);
    }
    sink.text("\n");
  });
  sink.text("\nMAPPED_LIBRARIES:\n");
  copy_file("/proc/self/maps", sink);
}

// Where why_no_heap() says nothing.
MallocExtension& tcmalloc() {
  return *appprof_malloc_extension();  // NOLINT(clang-analyzer-core.CallAndMessage): it was looked at before
}

}  // namespace

Profile heap_profile() {
  Profile profile;
  profile.types = {{"inuse_objects", "count"}, {"inuse_space", "bytes"}};
  profile.period_type = {"space", "bytes"};
  profile.time_ns = unix_time_ns();
  int period = 0;
  const std::unique_ptr<void*[]> entries(tcmalloc().ReadStackTraces(&period));
  profile.period = period;
  for_each_entry(entries.get(), [&](uintptr_t count, uintptr_t bytes, std::span<void*> stack) {
    const auto size = static_cast<double>(bytes) / static_cast<double>(count);
    // tcmalloc draws by the size that it rounds a small block up to, and remembers the size that was asked for.
    const auto asked = static_cast<size_t>(size);
    const size_t drawn = asked <= kLargestClass ? tcmalloc().GetEstimatedAllocatedSize(asked) : asked;
    const StackNote note = take_note(stack);
    const double weight =
        period > 0 ? weight_of_sample(static_cast<double>(drawn), doubled(period, note.doublings)) : 1;
    profile.samples.push_back(sample_of(stack, note.labels, weight * static_cast<double>(count),
                                        weight * static_cast<double>(bytes)));
  });
  merge_equal(profile);
  return profile;
}

Profile allocation_profile() {
  Profile profile;
  profile.types = {{"alloc_objects", "count"}, {"alloc_space", "bytes"}};
  profile.period_type = {"space", "bytes"};
  profile.period = appprof_sample_parameter;
  profile.time_ns = unix_time_ns();
  profile.monotonic_ns = monotonic_ns();
  profile.duration_ns = profile.monotonic_ns - g_allocations_began_ns.load();
  add_sites(g_allocations, profile);
  return profile;
}

Profile growth_profile() {
  Profile profile;
  profile.types = {{"growth_objects", "count"}, {"growth_space", "bytes"}};
  profile.period_type = {"space", "bytes"};
  profile.period = 1;
  profile.time_ns = unix_time_ns();
  profile.monotonic_ns = monotonic_ns();
  const std::unique_ptr<void*[]> entries(tcmalloc().ReadHeapGrowthStackTraces());
  for_each_entry(entries.get(), [&](uintptr_t count, uintptr_t bytes, std::span<void*> stack) {
    const StackNote note = take_note(stack);
    profile.samples.push_back(
        sample_of(stack, note.labels, static_cast<double>(count), static_cast<double>(bytes)));
  });
  merge_equal(profile);
  return profile;
}

namespace {

std::string text_of_entries(void** entries, std::string_view kind, int period) {
  StringSink sink;
  write_entries(entries, kind, static_cast<uint64_t>(period), sink);
  return sink.take();
}

}  // namespace

std::string heap_text() {
  int period = 0;
  const std::unique_ptr<void*[]> entries(tcmalloc().ReadStackTraces(&period));
  return text_of_entries(entries.get(), "heap_v2", period);
}

std::string growth_text() {
  const std::unique_ptr<void*[]> entries(tcmalloc().ReadHeapGrowthStackTraces());
  return text_of_entries(entries.get(), "growth", 0);
}

bool dump_heap(int file) noexcept {
  int period = 0;
  const std::unique_ptr<void*[]> entries(tcmalloc().ReadStackTraces(&period));
  FileSink sink(file);
  write_entries(entries.get(), "heap_v2", static_cast<uint64_t>(period), sink);
  sink.flush();
  return entries != nullptr && sink.is_whole();
}

}  // namespace plimsoll::appprof
