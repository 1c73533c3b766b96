// SPDX-License-Identifier: Apache-2.0
// Places images: makes container runtimes pull images of bundles from gpuhost-registry before a pod needs
// them. Pinned images are also protected from the kubelet's garbage collector.
//
// This runs in a process of its own, at the same time as the daemon's operations, because a pull may last
// long. There is no undo: a runtime may have any image.
#pragma once

#include "daemon/base/json_fwd.hpp"
#include "images/host/image_runtime.hpp"
#include "images/host/mirrors.hpp"
#include "images/store/pins.hpp"
#include "images/store/references.hpp"

#include <functional>
#include <string>
#include <vector>

namespace gpuhost::images {

constexpr std::string_view placement_file = "/run/gpuhost/placement.json";

/// The result for one image in one runtime.
struct Placement {
    enum class State {
        Present,
        Placed,
        Wanted, ///< missing, and not pulled because this was a dry run
        Failed
    };
    WantedImage image;
    std::string runtime; ///< path of its socket
    State state = State::Present;
    std::string why; ///< the error of state Failed
};
[[nodiscard]] std::string_view name(Placement::State state) noexcept;

struct PlacementReport {
    std::uint64_t checked = 0; ///< seconds since 1970
    std::vector<std::string> runtimes;
    std::vector<Placement> placements;
    std::vector<std::string> absent;   ///< words of Pin= that match no image of a bundle; not an error
    std::vector<std::string> problems; ///< sentences about what could not be done

    [[nodiscard]] bool is_good() const;
};

class Placer {
  public:
    /// Called with the current action as text for people: "registry.example/app:v1: pulling".
    using OnText = std::function<void(const std::string& text)>;

    /// `root` must outlive the object.
    Placer(const base::Root& root, References references, ImageRuntimes runtimes, MirrorSettings mirrors)
        : root_(&root), references_(std::move(references)), runtimes_(std::move(runtimes)),
          mirrors_(std::move(mirrors)) {}

    /// Pulls an image in each runtime if the start of a pod with this image and pull policy would pull it. An
    /// image that no bundle has is not pulled.
    [[nodiscard]] PlacementReport ensure(const Reference& reference, PullPolicy policy, bool dry_run,
                                         const OnText& on_text = {}) const;
    /// Pulls and pins those images of bundles that match one of `words`, the words of Pin=. Unpins the images
    /// that gpuhost pinned earlier and that no word matches any more.
    [[nodiscard]] PlacementReport ensure_pinned(const std::vector<std::string>& words, bool dry_run,
                                                const OnText& on_text = {}) const;

  private:
    [[nodiscard]] PlacementReport new_report() const;
    void place(const ImageRuntime& runtime, const std::vector<WantedImage>& wanted, bool dry_run,
               const OnText& on_text, PlacementReport& report) const;
    [[nodiscard]] base::Result<void> place_one(const ImageRuntime& runtime, const WantedImage& image,
                                               const OnText& on_text) const;
    /// Unpins images of the runtime that gpuhost pinned and that none of `pins` matches. An image that
    /// matches stays pinned even if its bundle was removed, because it could not be pulled again.
    void release(const ImageRuntime& runtime, const std::vector<Pin>& pins, PlacementReport& report) const;

    /// Removes from CRI-O's list the images that none of `pins` matches. The list is the same for all
    /// runtimes, and may contain images of a runtime that no longer exists.
    void release_from_crio(const std::vector<Pin>& pins, PlacementReport& report) const;
    /// Reports runtimes whose client is missing. If another runtime has the image, passes the messages to
    /// `on_text`; else adds them to the report's problems.
    void add_runtime_problems(PlacementReport& report, const OnText& on_text) const;

    const base::Root* root_;
    References references_;
    ImageRuntimes runtimes_;
    MirrorSettings mirrors_;
};

[[nodiscard]] base::Json to_json(const PlacementReport& report);
/// Returns the report of the last ensure_pinned() in the form of to_json(); null if it has not run since
/// boot.
[[nodiscard]] base::Json last_placement(const base::Root& root);

} // namespace gpuhost::images
