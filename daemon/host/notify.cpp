// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/notify.hpp"

#include "daemon/base/clock.hpp"

#include <cinttypes>

#include <systemd/sd-daemon.h>

namespace gpuhost::host::notify {

void ready(std::string_view status) noexcept {
    (void)sd_notifyf(0, "READY=1\nSTATUS=%.*s", static_cast<int>(status.size()), status.data());
}

void status(std::string_view text) noexcept {
    (void)sd_notifyf(0, "STATUS=%.*s", static_cast<int>(text.size()), text.data());
}

void reloading() noexcept {
    // With Type=notify-reload, systemd requires MONOTONIC_USEC, else the reload times out. Older versions of
    // systemd ignore MONOTONIC_USEC.
    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, base::monotonic_us());
}

void stopping() noexcept {
    (void)sd_notify(0, "STOPPING=1");
}

} // namespace gpuhost::host::notify
