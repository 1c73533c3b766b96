// SPDX-License-Identifier: Apache-2.0
// Shared by the verbs that print how to enrol the site's key with the kernel.
#pragma once

#include "daemon/ctl/cli/session.hpp"
#include "kmod/trust/secure_boot.hpp"

namespace gpuhost::ctl {

/// Returns the paths of the site's key and certificate: the configured ones, else those that 'secure-boot
/// create-key' creates.
[[nodiscard]] kmod::SigningSettings signing_files(const base::Root& root);

/// Prints how to enrol the certificate. Fails with NotFound if there is none. Returns the exit status.
[[nodiscard]] base::Result<int> print_enrolment(Session& session, const base::Root& root,
                                                const kmod::SigningSettings& signing, bool created);

} // namespace gpuhost::ctl
