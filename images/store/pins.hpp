// SPDX-License-Identifier: Apache-2.0
// Pinned images, which the runtimes must have and keep: Pin= in [Images], set by an administrator or by
// gpuhostctl.
#pragma once

#include "daemon/base/root.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpuhost::images {

/// An image name ("registry.example/team/app:v1", "busybox"), or a shell pattern over full names
/// ("registry.example/team/*").
class Pin {
  public:
    /// Fails with InvalidArgument for anything else, also for a reference by digest: a pin follows its name.
    [[nodiscard]] static base::Result<Pin> parse(std::string_view text);

    [[nodiscard]] const std::string& text() const { return text_; } ///< a full name, or a pattern
    [[nodiscard]] bool fits(const std::string& full_name) const;

  private:
    Pin(std::string text, bool pattern) : text_(std::move(text)), pattern_(pattern) {}

    std::string text_;
    bool pattern_;
};

/// Returns one pin for each word. An invalid word becomes a pin that matches nothing.
[[nodiscard]] std::vector<Pin> pins_of(const std::vector<std::string>& words);

/// Replaces all pins, in a drop-in. Fails with Refused and changes nothing if a later file overrides it.
[[nodiscard]] base::Result<void> write_pins(const base::Root& root, const std::vector<std::string>& pins);
/// Returns the pins as configured now.
[[nodiscard]] std::vector<std::string> read_pins(const base::Root& root);

} // namespace gpuhost::images
