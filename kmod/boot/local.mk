# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/archive daemon/content/set daemon/core kmod kmod/build kmod/module
#   kmod/store kmod/units
kmod_libkmod_gpu_a_SOURCES += \
    %D%/host_programs.cpp \
    %D%/host_programs.hpp \
    %D%/initramfs.cpp \
    %D%/initramfs.hpp \
    %D%/initramfs_images.cpp \
    %D%/initramfs_images.hpp \
    %D%/initramfs_steps.cpp \
    %D%/initramfs_tool.cpp \
    %D%/initramfs_tool.hpp \
    %D%/modprobe_options.cpp \
    %D%/modprobe_options.hpp \
    %D%/removed_kernels.cpp \
    %D%/removed_kernels.hpp \
    %D%/selection_files.cpp \
    %D%/selection_files.hpp
