// SPDX-License-Identifier: Apache-2.0
// The kernel's text console while it is on nvidia_drm's framebuffer (fbdev=1). On some kernels it holds a
// reference on that module, although no process does. On others (DRM's own emulation since 4.19.58) it
// releases the module by itself. Documentation/driver-api/tty/console.rst and Documentation/fb/fbcon.rst
// describe the files in /sys/class/vtconsole and /sys/class/graphics.
#pragma once

#include "daemon/base/root.hpp"

#include <optional>
#include <string>

namespace gpuhost::kmod {

struct Console {
    std::string name; ///< "vtcon1"; may differ after the framebuffer was removed
    bool bound = false;
};

/// Returns the console that is on nvidia_drm's framebuffer, or would be if it were bound. Returns nothing if
/// the console is on another driver's framebuffer or on none.
[[nodiscard]] std::optional<Console> driver_console(const base::Root& root);

/// Returns 0 or an errno. EBUSY: the kernel refused the change, for example while a program draws on a
/// virtual console (KD_GRAPHICS). May block for as long as the driver does.
[[nodiscard]] int bind_console(const base::Root& root, const std::string& name, bool bound);

/// "the kernel's text console (vtcon1)"
[[nodiscard]] std::string describe_console(const std::string& name);

} // namespace gpuhost::kmod
