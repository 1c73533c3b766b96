// SPDX-License-Identifier: Apache-2.0
// Places images in the runtimes in advance. The runtime itself pulls them from this host's registry, and the
// pinned ones are protected from the kubelet's garbage collector.
//
// This runs in its own process beside the daemon's operations. A runtime's images are its own state, so there
// is nothing to undo, and a pull may take any time.
#pragma once

#include "daemon/base/json.hpp"
#include "images/host/image_runtime.hpp"
#include "images/host/mirrors.hpp"
#include "images/store/pins.hpp"
#include "images/store/references.hpp"

#include <functional>
#include <string>
#include <vector>

namespace gpuhost::images {

constexpr std::string_view placement_file = "/run/gpuhost/placement.json";

/// One image in one runtime.
struct Placement {
    enum class State {
        Present,
        Placed,
        Wanted, ///< not placed, because this was a dry run
        Failed
    };
    WantedImage image;
    std::string runtime; ///< its socket
    State state = State::Present;
    std::string why; ///< of Failed
};
[[nodiscard]] std::string_view name(Placement::State state) noexcept;

struct PlacementReport {
    std::uint64_t checked = 0; ///< seconds since 1970
    std::vector<std::string> runtimes;
    std::vector<Placement> placements;
    std::vector<std::string> absent;   ///< pinned, but in no bundle yet: not an error
    std::vector<std::string> problems; ///< sentences about what is wanted and impossible

    [[nodiscard]] bool is_good() const;
};

class Placer {
  public:
    /// Called with the current action: "registry.example/app:v1: pulling".
    using OnText = std::function<void(const std::string& text)>;

    /// `root` must outlive the object.
    Placer(const base::Root& root, References references, ImageRuntimes runtimes, MirrorSettings mirrors)
        : root_(&root), references_(std::move(references)), runtimes_(std::move(runtimes)),
          mirrors_(std::move(mirrors)) {}

    /// Does in advance what a pod with that image and policy would cause.
    [[nodiscard]] PlacementReport ensure(const Reference& reference, PullPolicy policy, bool dry_run,
                                         const OnText& on_text = {}) const;
    /// Places the images that match, and unpins others that we pinned. `words` are those of Pin=.
    [[nodiscard]] PlacementReport ensure_pinned(const std::vector<std::string>& words, bool dry_run,
                                                const OnText& on_text = {}) const;

  private:
    [[nodiscard]] PlacementReport new_report() const;
    void place(const ImageRuntime& runtime, const std::vector<WantedImage>& wanted, bool dry_run,
               const OnText& on_text, PlacementReport& report) const;
    [[nodiscard]] base::Result<void> place_one(const ImageRuntime& runtime, const WantedImage& image,
                                               const OnText& on_text) const;
    /// Unpins images that no pin matches any more. A matching image whose bundle was removed stays pinned,
    /// because nothing could restore it.
    void release(const ImageRuntime& runtime, const std::vector<Pin>& pins, PlacementReport& report) const;

    /// The same for CRI-O's list, whichever runtime placed the image, even if that is gone.
    void release_from_crio(const std::vector<Pin>& pins, PlacementReport& report) const;
    /// Adds the problems of unreachable runtimes. They are errors only if no other runtime has the image.
    void add_runtime_problems(PlacementReport& report, const OnText& on_text) const;

    const base::Root* root_;
    References references_;
    ImageRuntimes runtimes_;
    MirrorSettings mirrors_;
};

[[nodiscard]] base::Json to_json(const PlacementReport& report);
/// Returns the report of the last ensure_pinned() in the form of to_json(); null if there was none since
/// boot.
[[nodiscard]] base::Json last_placement(const base::Root& root);

} // namespace gpuhost::images
