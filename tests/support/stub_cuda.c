// SPDX-License-Identifier: Apache-2.0
// Fakes libcuda.so.1 without a GPU: computes the result of gpuhostd's validation kernel on STUB_CUDA_DEVICES
// GPUs (default: 1). STUB_CUDA_FAIL=FUNCTION:ERROR makes that function return the error; STUB_CUDA_WRONG=N
// makes GPU N compute wrong sums. With STUB_CUDA_JIT it requires the PTX compiler, as the real library does,
// and uses one that is already open. Reports resources that are open at the end of the process on stderr.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { invalid_value = 1, invalid_ptx = 218, no_jit_compiler = 221, not_found = 500 };

static int contexts, modules, allocations;
static int current = -1;

__attribute__((destructor)) static void report(void) {
    if (contexts || modules || allocations)
        fprintf(stderr, "stub_cuda: left open: %d contexts, %d modules, %d allocations\n", contexts, modules,
                allocations);
}

static int devices(void) {
    const char* count = getenv("STUB_CUDA_DEVICES");
    return count ? atoi(count) : 1;
}

static int failure(const char* function) {
    const char* wanted = getenv("STUB_CUDA_FAIL");
    const size_t length = strlen(function);
    return wanted && strncmp(wanted, function, length) == 0 && wanted[length] == ':'
               ? atoi(wanted + length + 1)
               : 0;
}

int cuInit(unsigned flags) {
    return flags ? invalid_value : failure("cuInit");
}

int cuGetErrorString(int error, const char** text) {
    static char buffer[64];
    snprintf(buffer, sizeof buffer, "stub error %d", error);
    *text = buffer;
    return 0;
}

int cuDeviceGetCount(int* count) {
    *count = devices();
    return failure("cuDeviceGetCount");
}

int cuDeviceGet(int* device, int ordinal) {
    *device = 100 + ordinal; // a device differs from its ordinal
    return ordinal < devices() ? failure("cuDeviceGet") : invalid_value;
}

int cuDeviceGetPCIBusId(char* address, int size, int device) {
    snprintf(address, (size_t)size, "0000:%02X:00.0", device);
    return failure("cuDeviceGetPCIBusId");
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
    const int error = failure("cuDevicePrimaryCtxRetain");
    if (error)
        return error;
    ++contexts;
    *context = (void*)(uintptr_t)device;
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    --contexts;
    return device >= 100 ? 0 : invalid_value;
}

int cuCtxSetCurrent(void* context) {
    current = context ? (int)(uintptr_t)context : -1;
    return failure("cuCtxSetCurrent");
}

int cuModuleLoadData(void** module, const void* image) {
    const int error = failure("cuModuleLoadData");
    if (error || current < 0)
        return error ? error : invalid_value;
    if (strncmp(image, ".version ", 9) != 0 || !strstr(image, "add.u32") || !strstr(image, "st.global.u32"))
        return invalid_ptx;
    if (getenv("STUB_CUDA_JIT") && !dlopen("libnvidia-ptxjitcompiler.so.1", RTLD_NOW | RTLD_NOLOAD))
        return no_jit_compiler;
    ++modules;
    *module = &modules;
    return 0;
}

int cuModuleUnload(void* module) {
    --modules;
    return module == &modules ? 0 : invalid_value;
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
    *function = module;
    return strcmp(name, "add_vectors") == 0 ? failure("cuModuleGetFunction") : not_found;
}

int cuMemAlloc_v2(uint64_t* memory, size_t size) {
    const int error = failure("cuMemAlloc_v2");
    if (error)
        return error;
    ++allocations;
    *memory = (uint64_t)(uintptr_t)malloc(size);
    return 0;
}

int cuMemFree_v2(uint64_t memory) {
    --allocations;
    free((void*)(uintptr_t)memory);
    return 0;
}

int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t size) {
    memcpy((void*)(uintptr_t)to, from, size);
    return failure("cuMemcpyHtoD_v2");
}

int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t size) {
    memcpy(to, (void*)(uintptr_t)from, size);
    return failure("cuMemcpyDtoH_v2");
}

int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** parameters,
                   void** extra) {
    const uint32_t* a = (const uint32_t*)(uintptr_t) * (uint64_t*)parameters[0];
    const uint32_t* b = (const uint32_t*)(uintptr_t) * (uint64_t*)parameters[1];
    uint32_t* sum = (uint32_t*)(uintptr_t) * (uint64_t*)parameters[2];
    const uint32_t count = *(uint32_t*)parameters[3];
    const char* wrong = getenv("STUB_CUDA_WRONG");
    if (function != &modules || grid_y * grid_z * block_y * block_z != 1 || shared || stream || extra)
        return invalid_value;
    for (uint32_t i = 0; i < count && i < grid_x * block_x; ++i)
        sum[i] = a[i] + b[i];
    if (wrong && current == 100 + atoi(wrong))
        sum[count - 1] ^= 1;
    return failure("cuLaunchKernel");
}

int cuCtxSynchronize(void) {
    return failure("cuCtxSynchronize");
}
