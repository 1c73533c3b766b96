// SPDX-License-Identifier: Apache-2.0
// Records the inputs of the published specifications. The daemon can then check whether the specifications
// are current without reading other programs' files or querying the driver.
//
// The step that writes the specifications also writes the record, /var/lib/gpuhost/cdi.json. It remains after
// a reboot, like specifications in /etc/cdi.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::runtime {

struct CdiRecord {
    base::Json inputs;                        ///< cdi_inputs() when the specifications were made
    std::map<std::string, std::string> files; ///< path of each specification → its identify()
    std::vector<std::string> devices;         ///< "nvidia.com/gpu=0"; without the names by UUID
    std::string directory;                    ///< CdiSettings::directory when they were made
    std::string groups_setting;               ///< CdiSettings::groups when they were made
    bool groups = true;                       ///< the specifications contain groups
    std::string old_reader; ///< the runtime because of which "auto" omits groups; empty: none
    std::map<std::string, std::string> programs; ///< programs examined for "auto", see CdiReaders
    std::string version;                         ///< newest version among the specifications: "0.5.0"
    std::string problem; ///< why containers do not get the complete driver; empty: they get it
    bool failed = false; ///< true: the step should run again, although no input has changed
    bool whole = false;  ///< the specification of GPUs contains all of them
};
[[nodiscard]] base::Json to_json(const CdiRecord& record);
[[nodiscard]] std::optional<CdiRecord> cdi_record_from_json(const base::Json& value);
/// Returns nullopt without a readable record. Callers then assume that nothing was written.
[[nodiscard]] std::optional<CdiRecord> read_cdi_record(const base::Root& host);
[[nodiscard]] base::Result<void> write_cdi_record(const base::Root& host, const CdiRecord& record);

/// Returns a text that changes with every write to the file; empty if the file does not exist.
[[nodiscard]] std::string identify(const base::Root& host, const std::string& path);
/// Returns the recorded files that another program has changed.
[[nodiscard]] std::vector<std::string> changed_files(const base::Root& host, const CdiRecord& record);
/// Returns the paths in the record's list of programs whose file was installed, replaced or removed after
/// the record was written.
[[nodiscard]] std::vector<std::string> changed_programs(const base::Root& host, const CdiRecord& record);
[[nodiscard]] std::vector<std::string> missing_files(const base::Root& host, const CdiRecord& record);

} // namespace gpuhost::runtime
