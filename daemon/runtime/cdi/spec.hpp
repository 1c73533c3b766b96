// SPDX-License-Identifier: Apache-2.0
// A specification of the Container Device Interface, CDI 1.1.0: the changes that a runtime makes to a
// container that requests one of its devices.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "daemon/base/result.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::runtime {

struct SpecNode {
    std::string path;      ///< in the container
    std::string host_path; ///< empty: same as `path`
    std::string type;
    std::int64_t major = 0;
    std::int64_t minor = 0;
    std::optional<std::uint32_t> file_mode;
    std::string permissions; ///< "rwm"
    std::optional<std::uint32_t> uid;
    std::optional<std::uint32_t> gid;
    friend bool operator==(const SpecNode&, const SpecNode&) = default;
};

struct SpecMount {
    std::string host_path;
    std::string container_path;
    std::vector<std::string> options;
    std::string type; ///< empty: "bind"
    [[nodiscard]] bool is_of_host() const { return type.empty() || type == "bind"; }
    friend bool operator==(const SpecMount&, const SpecMount&) = default;
};

struct SpecHook {
    std::string name;              ///< "createContainer"
    std::string path;              ///< path of a program on the host
    std::vector<std::string> args; ///< the first is the program's name
    std::vector<std::string> env;
    std::optional<std::int64_t> timeout; ///< seconds
    friend bool operator==(const SpecHook&, const SpecHook&) = default;
};

struct SpecNetDevice {
    std::string host_interface;
    std::string name;
    friend bool operator==(const SpecNetDevice&, const SpecNetDevice&) = default;
};

struct SpecIntelRdt {
    std::string clos_id;
    std::string l3_cache_schema;
    std::string mem_bw_schema;
    std::vector<std::string> schemata;
    bool enable_monitoring = false;
    friend bool operator==(const SpecIntelRdt&, const SpecIntelRdt&) = default;
};

struct SpecEdits {
    std::vector<std::string> env; ///< "NAME=VALUE"
    std::vector<SpecNode> nodes;
    std::vector<SpecNetDevice> net_devices;
    std::vector<SpecHook> hooks;
    std::vector<SpecMount> mounts;
    std::optional<SpecIntelRdt> intel_rdt;
    std::vector<std::uint32_t> additional_gids;
    [[nodiscard]] bool empty() const { return *this == SpecEdits(); }
    friend bool operator==(const SpecEdits&, const SpecEdits&) = default;
};

struct SpecDevice {
    std::string name; ///< "0", "GPU-…", "all"
    std::map<std::string, std::string> annotations;
    SpecEdits edits;
    friend bool operator==(const SpecDevice&, const SpecDevice&) = default;
};

struct Spec {
    std::string version; ///< CDI version
    std::string kind;    ///< "nvidia.com/gpu"
    std::map<std::string, std::string> annotations;
    std::vector<SpecDevice> devices;
    SpecEdits edits; ///< applied to every container with one of the devices
    friend bool operator==(const Spec&, const Spec&) = default;
};

/// Returns the lowest CDI version that supports all that `spec` uses. Runtimes refuse a version that is newer
/// than theirs.
[[nodiscard]] std::string minimum_version(const Spec& spec);

[[nodiscard]] base::Json to_json(const SpecEdits& edits);
[[nodiscard]] base::Json to_json(const Spec& spec);
/// Returns the content of a file: to_json(), indented, with a final newline.
[[nodiscard]] std::string to_text(const Spec& spec);

/// Parses a specification. Fails with BadContent, naming the place ("devices[0].containerEdits.mounts[2]"),
/// for a wrong type, a missing required member, or an unknown member. Runtimes refuse such files too.
[[nodiscard]] base::Result<Spec> spec_from_json(const base::Json& document, std::string_view what);
/// Parses a file: JSON if its name ends with ".json", else YAML.
[[nodiscard]] base::Result<Spec> parse_spec(std::string_view text, std::string_view name);

/// Returns true if runtimes read files with this name.
[[nodiscard]] bool is_spec_file(std::string_view name);

/// Returns sentences about why runtimes would refuse `spec`: names, version, paths, duplicate devices.
[[nodiscard]] std::vector<std::string> spec_problems(const Spec& spec);

} // namespace gpuhost::runtime
