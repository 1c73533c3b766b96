// SPDX-License-Identifier: Apache-2.0
// Records the inputs of the published specifications. The daemon can then check whether they are current
// without reading other programs' files or querying the driver.
//
// The step that writes the specifications writes /var/lib/gpuhost/cdi.json. Specifications may survive a
// boot.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::runtime {

struct CdiRecord {
    base::Json inputs;                           ///< when the specifications were made
    std::map<std::string, std::string> files;    ///< path → its identify()
    std::vector<std::string> devices;            ///< "nvidia.com/gpu=0"; excludes names by UUID
    std::string directory;                       ///< settings
    std::string groups_setting;                  ///< as in CdiSettings
    bool groups = true;                          ///< effective value
    std::string old_reader;                      ///< the runtime for which "auto" omits groups
    std::map<std::string, std::string> programs; ///< of runtimes examined for "auto", as in CdiReaders
    std::string version;                         ///< newest version among the specifications: "0.5.0"
    std::string problem;                         ///< why containers do not get all of it; empty: they do
    bool failed = false;                         ///< a retry may succeed without other changes
    bool whole = false;                          ///< the specification of GPUs is complete
};
[[nodiscard]] base::Json to_json(const CdiRecord& record);
[[nodiscard]] std::optional<CdiRecord> cdi_record_from_json(const base::Json& value);
/// Returns nothing without a readable record. Callers then assume that nothing was written.
[[nodiscard]] std::optional<CdiRecord> read_cdi_record(const base::Root& host);
[[nodiscard]] base::Result<void> write_cdi_record(const base::Root& host, const CdiRecord& record);

/// Returns a text that changes with every write to the file; empty: the file does not exist.
[[nodiscard]] std::string identify(const base::Root& host, const std::string& path);
/// Returns recorded files that were changed or removed since.
[[nodiscard]] std::vector<std::string> changed_files(const base::Root& host, const CdiRecord& record);
/// Returns recorded programs that were installed, replaced or removed since.
[[nodiscard]] std::vector<std::string> changed_programs(const base::Root& host, const CdiRecord& record);
[[nodiscard]] std::vector<std::string> missing_files(const base::Root& host, const CdiRecord& record);

} // namespace gpuhost::runtime
