// Who made a span, from the attributes of its resource (OpenTelemetry's semantic conventions): service, replica, machine, version.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll::formats {

// Reused from resource to resource: clear(), take() for each attribute, finish().
class ResourceIdentity {
 public:
  void clear();
  // Attributes that say nothing of identity are left out. An empty text is no value.
  void take(std::string_view key, std::string_view value);
  void finish();

  // service.namespace/service.name; "unknown_service" without a name, as OpenTelemetry has it.
  const std::string& service() const { return service_; }
  // service.instance.id, else k8s.pod.name, k8s.pod.uid, container.id, else host.name:process.pid; empty: unknown.
  const std::string& replica() const { return replica_; }
  // k8s.node.name, else host.name, host.id; empty: unknown.
  const std::string& machine() const { return machine_; }
  // service.version, else container.image.tags; empty: unknown.
  const std::string& version() const { return version_; }

 private:
  static constexpr size_t kKeys = 14;
  std::array<std::string, kKeys> values_;
  std::string service_, replica_, machine_, version_;
};

}  // namespace plimsoll::formats
