// SPDX-License-Identifier: Apache-2.0
// Stands in for libnvidia-ptxjitcompiler.so.1, which the driver's CUDA library opens by this name and no path.
const int gpuhost_stub_jit = 1;
