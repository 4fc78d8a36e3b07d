#include "server/inventory_thread.h"

#include <chrono>
#include <utility>

#include "base/checksum.h"
#include "base/file.h"
#include "base/log.h"
#include "http/client.h"
#include "scheduler/inventory/inventory_text.h"

namespace plimsoll::server {
namespace {

// A million machines, with long names.
constexpr size_t kMaxTextBytes = size_t{256} << 20;

// Whoever stops the server waits for it.
constexpr int64_t kTimeoutMs = 10'000;

Result<std::string> text_of(const std::string& source) {
  if (!source.starts_with("http://") && !source.starts_with("https://")) {
    return read_file(source, kMaxTextBytes);
  }
  const size_t path = source.find('/', source.find("://") + 3);
  http::Client client(
      {.base_url = source.substr(0, path), .timeout_ms = kTimeoutMs, .max_response_bytes = kMaxTextBytes});
  auto response = client.send("GET", path == std::string::npos ? "/" : source.substr(path));
  if (!response) {
    return propagate(response);
  }
  return response->ok() ? std::move(response->body)
                        : Result<std::string>(std::unexpected(http::error_of(*response, "asking " + source)));
}

}  // namespace

Result<std::unique_ptr<InventoryThread>> InventoryThread::start(std::string source, int64_t interval_ns,
                                                                store::LiveMachines machines) {
  std::unique_ptr<InventoryThread> made(
      new InventoryThread(std::move(source), interval_ns, std::move(machines)));
  if (const Status first = made->read(); !first && first.error().code != ErrorCode::kUnavailable) {
    return with_field(propagate(first), "inventory.machines");
  } else if (!first) {
    log_warning("{}; that of before stays", first.error().text());
  }
  made->thread_ = std::jthread([self = made.get()](const std::stop_token& stop) { self->run(stop); });
  return made;
}

Status InventoryThread::read() {
  const auto text = text_of(source_);
  if (!text) {
    return propagate(text, "reading the inventory {}", source_);
  }
  const uint64_t checksum = checksum64(as_bytes(*text));
  if (checksum == kept_checksum_) {
    return {};
  }
  const auto inventory = scheduler::parse_inventory(*text);
  if (!inventory) {
    return propagate(inventory, "reading the inventory {}", source_);
  }
  if (auto kept = machines_.keep_inventory(*inventory); !kept) {
    return propagate(kept, "keeping the inventory");
  }
  kept_checksum_ = checksum;
  log_info("the inventory has {} machines", inventory->size());
  return {};
}

void InventoryThread::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, std::chrono::nanoseconds(interval_ns_), [] { return false; });
    if (stop.stop_requested()) {
      return;
    }
    const Status done = read();
    const std::string problem = done ? "" : done.error().text();
    if (std::exchange(problem_, problem) != problem && !done) {
      log_error("{}; what was read before stays", problem);
    }
  }
}

}  // namespace plimsoll::server
