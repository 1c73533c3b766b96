// SPDX-License-Identifier: Apache-2.0
// The kernel's text console where it shows on nvidia_drm's framebuffer (fbdev=1): on some kernels it
// keeps that module as no process does, on others (DRM's own emulation since 4.19.58) it gives way by itself.
// Documentation/driver-api/tty/console.rst and Documentation/fb/fbcon.rst have the files, in /sys/class/vtconsole and
// /sys/class/graphics.
#pragma once

#include "daemon/base/root.hpp"

#include <optional>
#include <string>

namespace gpuhost::kmod {

struct Console {
    std::string name; ///< "vtcon1"; another one perhaps once the framebuffer was gone
    bool bound = false;
};

/// The console that shows on nvidia_drm's framebuffer, or would if it were bound. None: it shows on another driver's, or on
/// none.
[[nodiscard]] std::optional<Console> driver_console(const base::Root& root);

/// 0 or an errno. EBUSY: the kernel leaves it as it was, as while something draws on a virtual console (KD_GRAPHICS). It may
/// hang for as long as the driver does.
[[nodiscard]] int bind_console(const base::Root& root, const std::string& name, bool bound);

/// "the kernel's text console (vtcon1)"
[[nodiscard]] std::string describe_console(const std::string& name);

} // namespace gpuhost::kmod
