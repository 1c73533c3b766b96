# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/archive daemon/content/set daemon/core kmod kmod/build kmod/module
#   kmod/store kmod/units
kmod_libkmod_gpu_a_SOURCES += \
    %D%/gone_kernels.cpp \
    %D%/gone_kernels.hpp \
    %D%/host_programs.cpp \
    %D%/host_programs.hpp \
    %D%/image_tool.cpp \
    %D%/image_tool.hpp \
    %D%/images.cpp \
    %D%/images.hpp \
    %D%/initramfs.cpp \
    %D%/initramfs.hpp \
    %D%/initramfs_steps.cpp \
    %D%/modprobe_options.cpp \
    %D%/modprobe_options.hpp \
    %D%/selection_files.cpp \
    %D%/selection_files.hpp
