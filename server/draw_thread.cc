#include "server/draw_thread.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/time.h"

namespace plimsoll::server {
namespace {

// A wall clock may be set while somebody waits for a time of it.
constexpr int64_t kLongestWaitNs = 5 * kNsPerSecond;

}  // namespace

Result<std::unique_ptr<DrawThread>> DrawThread::start(scheduler::Drawer& drawer, store::Ingest& ingest,
                                                      BackgroundWork& work) {
  auto machines = store::LiveMachines::open(ingest.directory().live_path(), sqlite::OpenMode::kRead);
  return machines ? Result<std::unique_ptr<DrawThread>>(std::unique_ptr<DrawThread>(
                        new DrawThread(drawer, ingest, std::move(*machines), work)))
                  : propagate(machines);
}

DrawThread::DrawThread(scheduler::Drawer& drawer, store::Ingest& ingest, store::LiveMachines machines,
                       BackgroundWork& work)
    : drawer_(drawer),
      ingest_(ingest),
      machines_(std::move(machines)),
      work_(work),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

bool DrawThread::wait(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const int64_t left_ns = drawer_.next_due_ns() - wall_now_ns();
    if (left_ns <= 0) {
      return true;
    }
    wake_.wait_for(lock, stop, std::chrono::nanoseconds(std::min(left_ns, kLongestWaitNs)),
                   [] { return false; });
  }
  return false;
}

void DrawThread::run(const std::stop_token& stop) {
  while (wait(stop)) {
    const Status drawn = work_.run(
        Work::kDraws, "drawing", [this] { return drawer_.draw_if_due(ingest_.settled_now_ns(), machines_); });
    if (!drawn) {
      log_error("{}", drawn.error().text());
    }
  }
}

}  // namespace plimsoll::server
