// SPDX-License-Identifier: Apache-2.0
// The kernel's text console, if it is on nvidia_drm's framebuffer (module parameter fbdev=1). On some kernels
// the console then holds a reference on that module, so that it cannot be unloaded although no process uses
// it. On others (DRM's own emulation since 4.19.58) the console releases the module automatically.
// Documentation/driver-api/tty/console.rst and Documentation/fb/fbcon.rst describe the files in
// /sys/class/vtconsole and /sys/class/graphics.
#pragma once

#include "daemon/base/root.hpp"

#include <optional>
#include <string>

namespace gpuhost::kmod {

struct Console {
    std::string name;   ///< "vtcon1"; may change when the framebuffer is removed and created again
    bool bound = false; ///< whether it is bound to nvidia_drm's framebuffer
};

/// Returns the console that is bound to nvidia_drm's framebuffer, or that can be bound to it. Returns nothing
/// if the console uses the framebuffer of another driver, or none.
[[nodiscard]] std::optional<Console> driver_console(const base::Root& root);

/// Binds the console `name` to the framebuffer, or unbinds it if `bound` is false. Returns 0 or an errno.
/// EBUSY: the kernel refused the change, for example while a program draws on a virtual console
/// (KD_GRAPHICS). May block for as long as the driver does.
[[nodiscard]] int bind_console(const base::Root& root, const std::string& name, bool bound);

/// Returns "the kernel's text console (vtcon1)", for messages.
[[nodiscard]] std::string describe_console(const std::string& name);

} // namespace gpuhost::kmod
