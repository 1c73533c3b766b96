// SPDX-License-Identifier: Apache-2.0
// Fakes libnvidia-ptxjitcompiler.so.1, which the driver's CUDA library opens by this name without a path.
const int gpuhost_stub_jit = 1;
