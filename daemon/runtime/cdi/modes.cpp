// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/modes.hpp"

#include "daemon/runtime/cdi/services.hpp"

#include <array>

namespace gpuhost::runtime {

std::span<const CdiMode> cdi_modes() {
    static constexpr std::array modes{
        CdiMode{"gpu", "nvidia.yaml", false, make_gpu_spec},
        CdiMode{"management", "management.nvidia.com-gpu.yaml", false, make_management_spec},
        CdiMode{"imex", "nvidia.com-imex-channel.yaml", true, make_imex_spec},
        CdiMode{"gds", "nvidia.com-gds.yaml", true, make_gds_spec},
        CdiMode{"gdrcopy", "nvidia.com-gdrcopy.yaml", true, make_gdrcopy_spec},
        CdiMode{"mofed", "nvidia.com-mofed.yaml", true, make_mofed_spec},
        CdiMode{"nvswitch", "nvidia.com-nvswitch.yaml", true, make_nvswitch_spec}};
    return modes;
}

} // namespace gpuhost::runtime
