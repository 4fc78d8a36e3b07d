#include "appprof/oom_dump.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <new>

#include "appprof/announcement.h"
#include "appprof/heap.h"
#include "appprof/mappings.h"
#include "appprof/pprof_writer.h"
#include "appprof/text_sink.h"
#include "appprof/thread_state.h"

namespace plimsoll::appprof {
namespace {

constexpr size_t kReserveBytes = size_t{16} << 20;
constexpr int kMaxWaitMs = 5000;  // of other threads, for the dump

enum DumpState : int { kOff, kArmed, kDumping, kDone };
constinit std::atomic<int> g_dump_state{kOff};
// Written while kOff.
constinit std::array<char, 512> g_dump_path{};
constinit std::array<char, 512> g_pprof_path{};
constinit const Labels* g_dump_labels = nullptr;
constinit void* g_reserve = nullptr;
constinit std::new_handler g_previous_handler = nullptr;

void put_back_handler() noexcept {
  std::set_new_handler(g_previous_handler);
}

void say(std::string_view text, std::string_view path) noexcept {
  FileSink sink(STDERR_FILENO);
  sink.text("libplimsoll_appprof: out of memory: ");
  sink.text(text);
  sink.text(path);
  sink.text("\n");
  sink.flush();
}

// Never over a file that is there, nor through a link.
int create_file(const char* path) noexcept {
  return ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

void write_pprof_dump() {
  const CodeMap code = CodeMap::read();
  Profile profile = heap_profile();
  drop_allocator_frames(profile, code);
  const std::string content = gzip(write_pprof(profile, code, *g_dump_labels));
  const int file = content.empty() ? -1 : create_file(g_pprof_path.data());
  if (file >= 0) {
    FileSink sink(file);
    sink.text(content);
    sink.flush();
    ::close(file);
  }
}

void write_dump() noexcept {
  ::munmap(g_reserve, kReserveBytes);
  const int file = create_file(g_dump_path.data());
  if (file < 0) {
    say("no heap profile: cannot create ", g_dump_path.data());
    return;
  }
  const bool is_written = dump_heap(file);
  ::close(file);
  say(is_written ? "heap profile in " : "heap profile is not whole: ", g_dump_path.data());
  try {
    write_pprof_dump();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): no memory for that; the text is there
  }
}

// May throw std::bad_alloc alone, as a new handler may.
void on_out_of_memory() {
  if (t_state.is_inside) {
    throw std::bad_alloc();  // there is not even memory for the dump, or for our own threads
  }
  int expected = kArmed;
  if (g_dump_state.compare_exchange_strong(expected, kDumping)) {
    const Inside inside;
    write_dump();
    put_back_handler();
    g_dump_state.store(kDone);
    return;
  }
  // Another thread, whose failure might end the program in the middle of the dump. Afterwards the handler of before is asked.
  const timespec step{0, 1'000'000};
  for (int waited_ms = 0; g_dump_state.load() == kDumping && waited_ms < kMaxWaitMs; ++waited_ms) {
    ::nanosleep(&step, nullptr);
  }
  if (g_dump_state.load() == kDumping) {
    throw std::bad_alloc();
  }
}

}  // namespace

std::string start_oom_dump(const std::string& folder, const Labels& labels) {
  if (!is_tcmalloc()) {
    return "no dump when memory runs out: " + why_no_heap();
  }
  if (g_dump_state.load() == kArmed) {
    return {};
  }
  const std::string name =
      folder + "/" + std::to_string(::getpid()) + "-" + std::to_string(own_start_ticks());
  const std::string path = name + ".heap";
  const std::string pprof_path = name + ".pb.gz";
  if (pprof_path.size() >= g_dump_path.size() || ::access(folder.c_str(), W_OK) != 0) {
    return "no dump when memory runs out: cannot write to the folder " + folder;
  }
  void* reserve = ::mmap(nullptr, kReserveBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserve == MAP_FAILED) {
    return "no dump when memory runs out: there is no memory for it";
  }
  g_reserve = reserve;
  std::memcpy(g_dump_path.data(), path.c_str(), path.size() + 1);
  std::memcpy(g_pprof_path.data(), pprof_path.c_str(), pprof_path.size() + 1);
  // Never freed: a dump of another thread's may be under way whenever it is replaced.
  g_dump_labels = new Labels(labels);
  g_previous_handler = std::get_new_handler();
  g_dump_state.store(kArmed);
  // For operator new alone. tc_set_new_mode(1) would let malloc() ask too, but also any handler that the program sets later,
  // which may abort or throw where malloc() returned no memory; and an exception's own memory comes from malloc().
  std::set_new_handler(&on_out_of_memory);
  return {};
}

void stop_oom_dump() noexcept {
  int expected = kArmed;
  if (g_dump_state.compare_exchange_strong(expected, kOff)) {
    if (std::get_new_handler() == &on_out_of_memory) {
      put_back_handler();
    }
    ::munmap(g_reserve, kReserveBytes);
  }
}

void reset_oom_dump_in_child() noexcept {
  // A dump of another thread of the parent's never ends here.
  int expected = kDumping;
  if (g_dump_state.compare_exchange_strong(expected, kDone)) {
    put_back_handler();
  }
  stop_oom_dump();
}

}  // namespace plimsoll::appprof
