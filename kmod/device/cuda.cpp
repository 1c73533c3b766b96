// SPDX-License-Identifier: Apache-2.0
#include "kmod/device/cuda.hpp"

#include "daemon/base/handle.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>

#include <dlfcn.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using base::Result;

// The part of cuda.h that is used here, as libcuda has exported it since CUDA 7. The header itself may not be
// distributed.
using CuResult = int;
using CuDevice = int;
using CuPointer = std::uint64_t;
using CuHandle = void*;                          ///< a context, module, function or stream
constexpr CuResult no_device = 100;              ///< CUDA_ERROR_NO_DEVICE
constexpr CuResult not_initialized_system = 802; ///< CUDA_ERROR_SYSTEM_NOT_READY: no fabric manager

constexpr std::uint32_t elements = 4096;
constexpr unsigned threads = 256;
using Vector = std::array<std::uint32_t, elements>;
constexpr std::size_t vector_bytes = elements * sizeof(std::uint32_t);

/// The program: c[i] = a[i] + b[i], for integers, so that sums can be compared exactly. PTX of this version
/// runs on every GPU since Maxwell; the driver compiles it for the GPU.
constexpr const char* program = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry add_vectors(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
    .reg .pred %p;
    .reg .u32 %r<8>;
    .reg .u64 %d<8>;
    ld.param.u64 %d1, [a];
    ld.param.u64 %d2, [b];
    ld.param.u64 %d3, [c];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r1;
    @%p bra done;
    cvta.to.global.u64 %d1, %d1;
    cvta.to.global.u64 %d2, %d2;
    cvta.to.global.u64 %d3, %d3;
    mul.wide.u32 %d4, %r5, 4;
    add.u64 %d1, %d1, %d4;
    add.u64 %d2, %d2, %d4;
    add.u64 %d3, %d3, %d4;
    ld.global.u32 %r6, [%d1];
    ld.global.u32 %r7, [%d2];
    add.u32 %r6, %r6, %r7;
    st.global.u32 [%d3], %r6;
done:
    ret;
}
)";

using LibraryPtr = base::CHandle<void, ::dlclose>;

struct Cuda {
    CuResult (*init)(unsigned flags) = nullptr;
    CuResult (*error_string)(CuResult, const char**) = nullptr;
    CuResult (*device_count)(int*) = nullptr;
    CuResult (*device)(CuDevice*, int ordinal) = nullptr;
    CuResult (*pci_address)(char*, int size, CuDevice) = nullptr;
    CuResult (*retain_context)(CuHandle*, CuDevice) = nullptr;
    CuResult (*release_context)(CuDevice) = nullptr;
    CuResult (*set_context)(CuHandle) = nullptr;
    CuResult (*load_module)(CuHandle*, const void* image) = nullptr;
    CuResult (*unload_module)(CuHandle) = nullptr;
    CuResult (*function)(CuHandle*, CuHandle module, const char* name) = nullptr;
    CuResult (*allocate)(CuPointer*, std::size_t) = nullptr;
    CuResult (*free)(CuPointer) = nullptr;
    CuResult (*to_device)(CuPointer, const void*, std::size_t) = nullptr;
    CuResult (*to_host)(void*, CuPointer, std::size_t) = nullptr;
    CuResult (*launch)(CuHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared, CuHandle stream,
                       void** parameters, void** extra) = nullptr;
    CuResult (*synchronize)() = nullptr;

    [[nodiscard]] Result<void> check(const std::string& what, CuResult result) const {
        if (result == 0)
            return {};
        const char* text = nullptr;
        (void)error_string(result, &text);
        const bool fabric = result == not_initialized_system;
        return base::fail(
            fabric ? Errc::Busy : Errc::Failed,
            "CUDA: " + what + ": " + (text != nullptr ? text : "error " + std::to_string(result)),
            fabric ? "Check nvidia-fabricmanager, which GPUs with NVSwitches need in the driver's version: "
                     "systemctl status nvidia-fabricmanager."
                   : "See the kernel's log: journalctl -k -g NVRM.");
    }
};

template <class Function>
Result<void> find(void* library, const char* name, Function*& function) {
    void* const address = ::dlsym(library, name);
    if (address == nullptr)
        return base::fail(Errc::BadContent, std::string("libcuda: symbol '") + name + "' not found");
    function = reinterpret_cast<Function*>(address);
    return {};
}

Result<Cuda> symbols(void* library) {
    Cuda cuda;
    GPUHOST_CHECK(find(library, "cuInit", cuda.init));
    GPUHOST_CHECK(find(library, "cuGetErrorString", cuda.error_string));
    GPUHOST_CHECK(find(library, "cuDeviceGetCount", cuda.device_count));
    GPUHOST_CHECK(find(library, "cuDeviceGet", cuda.device));
    GPUHOST_CHECK(find(library, "cuDeviceGetPCIBusId", cuda.pci_address));
    GPUHOST_CHECK(find(library, "cuDevicePrimaryCtxRetain", cuda.retain_context));
    GPUHOST_CHECK(find(library, "cuDevicePrimaryCtxRelease_v2", cuda.release_context));
    GPUHOST_CHECK(find(library, "cuCtxSetCurrent", cuda.set_context));
    GPUHOST_CHECK(find(library, "cuModuleLoadData", cuda.load_module));
    GPUHOST_CHECK(find(library, "cuModuleUnload", cuda.unload_module));
    GPUHOST_CHECK(find(library, "cuModuleGetFunction", cuda.function));
    GPUHOST_CHECK(find(library, "cuMemAlloc_v2", cuda.allocate));
    GPUHOST_CHECK(find(library, "cuMemFree_v2", cuda.free));
    GPUHOST_CHECK(find(library, "cuMemcpyHtoD_v2", cuda.to_device));
    GPUHOST_CHECK(find(library, "cuMemcpyDtoH_v2", cuda.to_host));
    GPUHOST_CHECK(find(library, "cuLaunchKernel", cuda.launch));
    GPUHOST_CHECK(find(library, "cuCtxSynchronize", cuda.synchronize));
    return cuda;
}

/// Calls a function when it is destroyed.
template <class Function>
class AtEnd {
  public:
    explicit AtEnd(Function function) : function_(std::move(function)) {}
    AtEnd(const AtEnd&) = delete;
    AtEnd& operator=(const AtEnd&) = delete;
    ~AtEnd() { function_(); }

  private:
    Function function_;
};

/// Runs the program in the current CUDA context and checks the sums. `gpu` names the GPU in errors.
Result<void> compute(const Cuda& cuda, const std::string& gpu) {
    CuHandle module = nullptr;
    GPUHOST_CHECK(cuda.check("compiling for " + gpu, cuda.load_module(&module, program)));
    const AtEnd unload([&] { (void)cuda.unload_module(module); });
    CuHandle function = nullptr;
    GPUHOST_CHECK(cuda.check("compiling for " + gpu, cuda.function(&function, module, "add_vectors")));
    std::array<CuPointer, 3> memory{};
    const AtEnd release([&] {
        for (const CuPointer one : memory)
            if (one != 0)
                (void)cuda.free(one);
    });
    for (CuPointer& one : memory)
        GPUHOST_CHECK(cuda.check("allocating memory on " + gpu, cuda.allocate(&one, vector_bytes)));
    Vector a{};
    Vector b{};
    Vector sum{};
    for (std::uint32_t i = 0; i < elements; ++i) {
        a[i] = i * 2'654'435'761U;
        b[i] = ~i;
    }
    GPUHOST_CHECK(cuda.check("writing to " + gpu, cuda.to_device(memory[0], a.data(), vector_bytes)));
    GPUHOST_CHECK(cuda.check("writing to " + gpu, cuda.to_device(memory[1], b.data(), vector_bytes)));
    GPUHOST_CHECK(cuda.check("writing to " + gpu, cuda.to_device(memory[2], sum.data(), vector_bytes)));
    std::uint32_t count = elements;
    std::array<void*, 4> parameters{&memory[0], &memory[1], &memory[2], &count};
    GPUHOST_CHECK(cuda.check("starting on " + gpu, cuda.launch(function, elements / threads, 1, 1, threads, 1,
                                                               1, 0, nullptr, parameters.data(), nullptr)));
    GPUHOST_CHECK(cuda.check("computing on " + gpu, cuda.synchronize()));
    GPUHOST_CHECK(cuda.check("reading from " + gpu, cuda.to_host(sum.data(), memory[2], vector_bytes)));
    for (std::uint32_t i = 0; i < elements; ++i)
        if (sum[i] != a[i] + b[i])
            return base::fail(
                Errc::Failed, "CUDA: GPU " + gpu + " computes wrong sums",
                "Check the GPU for hardware errors: nvidia-smi -q -d ECC; journalctl -k -g NVRM.");
    return {};
}

/// Runs the computation on one GPU and returns its PCI address.
Result<std::string> compute_on(const Cuda& cuda, int ordinal) {
    const std::string number = "GPU " + std::to_string(ordinal);
    CuDevice device = 0;
    GPUHOST_CHECK(cuda.check(number, cuda.device(&device, ordinal)));
    std::array<char, 32> address{};
    GPUHOST_CHECK(
        cuda.check(number, cuda.pci_address(address.data(), static_cast<int>(address.size() - 1), device)));
    const std::string gpu(address.data());
    CuHandle context = nullptr;
    GPUHOST_CHECK(cuda.check("starting " + gpu, cuda.retain_context(&context, device)));
    const AtEnd release([&] {
        (void)cuda.set_context(nullptr);
        (void)cuda.release_context(device);
    });
    GPUHOST_CHECK(cuda.check("starting " + gpu, cuda.set_context(context)));
    GPUHOST_CHECK(compute(cuda, gpu));
    return gpu;
}

/// Opens the PTX compiler in the directory of libcuda. libcuda itself opens the compiler by name only.
/// Without this call, libcuda might get the compiler of another driver version.
LibraryPtr open_compiler(const std::string& library) {
    const std::string path = library.substr(0, library.rfind('/') + 1) + "libnvidia-ptxjitcompiler.so.1";
    return LibraryPtr(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
}

} // namespace

Result<std::vector<std::string>> add_vectors(const std::string& library) {
    (void)::setenv("CUDA_CACHE_DISABLE", "1", 1); // does not store the compiled program, which is used once
    const LibraryPtr compiler = open_compiler(library);
    const LibraryPtr handle(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!handle) {
        const char* const reason = ::dlerror();
        return base::fail(Errc::BadContent,
                          "'" + library + "': " + (reason != nullptr ? reason : "cannot be opened"));
    }
    GPUHOST_TRY(cuda, symbols(handle.get()));
    const CuResult started = cuda.init(0);
    if (started == no_device)
        return std::vector<std::string>();
    GPUHOST_CHECK(cuda.check("starting", started));
    int count = 0;
    GPUHOST_CHECK(cuda.check("counting GPUs", cuda.device_count(&count)));
    std::vector<std::string> gpus;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        GPUHOST_TRY(gpu, compute_on(cuda, ordinal));
        gpus.push_back(std::move(gpu));
    }
    return gpus;
}

} // namespace gpuhost::kmod
