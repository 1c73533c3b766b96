// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/config/files.hpp"

#include "daemon/ctl/cli/root_option.hpp"

namespace gpuhost::ctl {

base::Result<std::vector<core::SettingsFile>> files_of_host(const Arguments& given) {
    GPUHOST_TRY(root, given_root(given));
    std::vector<core::SettingsFile> files = core::settings_files(root);
    for (const core::SettingsFile& file : files)
        if (file.error && file.error->code == base::Errc::AccessDenied)
            return base::fail(file.error->with_hint("Run it as root."));
    return files;
}

} // namespace gpuhost::ctl
