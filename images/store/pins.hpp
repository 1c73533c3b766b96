// SPDX-License-Identifier: Apache-2.0
// Pinned images: container runtimes pull them in advance, and the kubelet does not remove them. An
// administrator sets Pin= in [Images], or runs 'gpuhostctl image pin'.
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
    /// Fails with InvalidArgument if `text` is neither an image name nor a pattern. Also fails for a name
    /// with a digest: a pin keeps the image that the name refers to at present.
    [[nodiscard]] static base::Result<Pin> parse(std::string_view text);

    [[nodiscard]] const std::string& text() const { return text_; } ///< a full name, or a pattern
    [[nodiscard]] bool fits(const std::string& full_name) const;

  private:
    Pin(std::string text, bool pattern) : text_(std::move(text)), pattern_(pattern) {}

    std::string text_;
    bool pattern_;
};

/// Returns one pin for each word of Pin=. An invalid word becomes a pin that matches no image.
[[nodiscard]] std::vector<Pin> pins_of(const std::vector<std::string>& words);

/// Replaces all pins, in a drop-in of gpuhostd.conf. Fails with Refused and changes nothing if a drop-in with
/// a later name also sets Pin=, which would take effect instead.
[[nodiscard]] base::Result<void> write_pins(const base::Root& root, const std::vector<std::string>& pins);
/// Returns the pins that are in effect in gpuhostd.conf and its drop-ins.
[[nodiscard]] std::vector<std::string> read_pins(const base::Root& root);

} // namespace gpuhost::images
