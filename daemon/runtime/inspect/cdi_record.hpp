// SPDX-License-Identifier: Apache-2.0
// Which specifications were made of what: so that the daemon knows without reading a foreign file, or asking the driver,
// whether they still fit.
//
// /var/lib/gpuhost/cdi.json is written by the step that writes the specifications; they may outlive a boot.
#pragma once

#include "daemon/base/json.hpp"
#include "daemon/base/root.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuhost::runtime {

struct CdiRecord {
    base::Json inputs;                           ///< as they were when the specifications were made
    std::map<std::string, std::string> files;    ///< path → what identify() said of it
    std::vector<std::string> devices;            ///< "nvidia.com/gpu=0", without those by UUID
    std::string directory;                       ///< settings
    std::string groups_setting;                  ///< as in CdiSettings
    bool groups = true;                          ///< what it came to
    std::string old_reader;                      ///< the runtime for which "auto" left them out
    std::map<std::string, std::string> programs; ///< of the runtimes that "auto" looked at, as in CdiReaders
    std::string version;                         ///< the newest of the specifications: "0.5.0"
    std::string problem;                         ///< why containers get not all of it; empty: they do
    bool failed = false; ///< it may go well the next time, though nothing else has changed
    bool whole = false;  ///< the specification of GPUs was made with nothing left out
};
[[nodiscard]] base::Json to_json(const CdiRecord& record);
[[nodiscard]] std::optional<CdiRecord> cdi_record_from_json(const base::Json& value);
/// Nothing where there is none that can be read: then nothing is known to have been written.
[[nodiscard]] std::optional<CdiRecord> read_cdi_record(const base::Root& host);
[[nodiscard]] base::Result<void> write_cdi_record(const base::Root& host, const CdiRecord& record);

/// Changes with every write to the file; empty: it is not there.
[[nodiscard]] std::string identify(const base::Root& host, const std::string& path);
/// Files of the record that somebody has written since, and those that are gone.
[[nodiscard]] std::vector<std::string> changed_files(const base::Root& host, const CdiRecord& record);
/// Programs of the record that were installed, replaced or removed since.
[[nodiscard]] std::vector<std::string> changed_programs(const base::Root& host, const CdiRecord& record);
[[nodiscard]] std::vector<std::string> missing_files(const base::Root& host, const CdiRecord& record);

} // namespace gpuhost::runtime
