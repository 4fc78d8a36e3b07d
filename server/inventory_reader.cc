#include "server/inventory_reader.h"

#include <chrono>
#include <utility>

#include "base/checksum.h"
#include "base/file.h"
#include "base/log.h"
#include "base/time.h"
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

// Of two pieces of work, with what failed in either.
Status both(Status first, const Status& second) {
  if (first || second) {
    return first ? second : first;
  }
  first.error().message += "; " + second.error().text();
  return first;
}

}  // namespace

Result<std::unique_ptr<InventoryReader>> InventoryReader::open(const InventorySettings& settings,
                                                               store::LiveMachines machines) {
  std::unique_ptr<InventoryReader> made(new InventoryReader(settings, std::move(machines)));
  for (Source& source : made->sources_) {
    const Status first = read(source);
    if (!first && first.error().code != ErrorCode::kUnavailable) {
      return with_field(propagate(first), source.name);
    }
    if (!first) {
      log_warning("{}; keeping the previous inventory", first.error().text());
    }
  }
  return made;
}

InventoryReader::InventoryReader(const InventorySettings& settings, store::LiveMachines machines)
    : settings_(settings), machines_(std::move(machines)) {
  const auto add = [this](std::string_view name, const std::string& place, auto parse, auto keep) {
    if (!place.empty()) {
      const auto count = [parse](std::string_view text) {
        const auto parsed = parse(text);
        return parsed ? Result<size_t>(parsed->size()) : propagate(parsed);
      };
      const auto keep_text = [parse, keep](std::string_view text) -> Status {
        const auto parsed = parse(text);
        return parsed ? keep(*parsed) : propagate(parsed);
      };
      sources_.push_back({.name = std::string(name), .place = place, .count = count, .keep = keep_text});
    }
  };
  add("inventory.machines", settings_.machines, scheduler::parse_inventory,
      [this](const auto& inventory) { return machines_.keep_inventory(inventory, wall_now_ns()); });
  add("inventory.jobs", settings_.jobs, scheduler::parse_inventory_instances,
      [this](const auto& instances) { return machines_.keep_inventory_instances(instances, wall_now_ns()); });
}

Status InventoryReader::read(Source& source) {
  const auto text = text_of(source.place);
  if (!text) {
    return propagate(text, "reading the inventory {}", source.place);
  }
  const uint64_t checksum = checksum64(as_bytes(*text));
  if (checksum == source.kept_checksum) {
    return {};
  }
  const auto entries = source.count(*text);
  if (!entries) {
    return propagate(entries, "reading the inventory {}", source.place);
  }
  const bool is_suspect = *entries < (source.kept_entries + 1) / 2;
  if (is_suspect && std::exchange(source.suspected_checksum, checksum) != checksum) {
    return fail(ErrorCode::kUnavailable, "the inventory {} shrank to {} of {} entries, it may be incomplete",
                source.place, *entries, source.kept_entries);
  }
  if (auto kept = source.keep(*text); !kept) {
    return propagate(kept, "storing the inventory {}", source.place);
  }
  source.kept_checksum = checksum;
  source.kept_entries = *entries;
  log_info("loaded the inventory {}: {} entries", source.place, *entries);
  return {};
}

Status InventoryReader::read_all() {
  Status done;
  for (Source& source : sources_) {
    const Status is_read = read(source);
    done = both(done, is_read ? Status()
                              : fail(is_read.error().code, "{}; keeping the previous inventory",
                                     is_read.error().text()));
  }
  return done;
}

Status InventoryReader::forget_vanished() {
  const auto forgotten = machines_.forget_unheard_since(wall_now_ns() - settings_.machine_ttl_ns);
  if (!forgotten) {
    return propagate(forgotten, "removing offline machines");
  }
  if (*forgotten > 0) {
    log_info("removed {} machines that were offline for {} (fleet.machine_ttl)", *forgotten,
             format_duration(settings_.machine_ttl_ns));
  }
  return {};
}

Status InventoryReader::forget_history() {
  constexpr auto kBetween = std::chrono::hours(1);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_forgetting_) {
    return {};
  }
  const Status done = machines_.forget_history(wall_now_ns() - settings_.machine_ttl_ns);
  if (done) {
    next_forgetting_ = now + kBetween;
  }
  return done;
}

Status InventoryReader::update() {
  const Status is_read = std::exchange(is_fresh_, false) ? Status() : read_all();
  const Status vanished = forget_vanished();
  return both(both(is_read, vanished), forget_history());
}

}  // namespace plimsoll::server
