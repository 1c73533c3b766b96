# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base
daemon_runtime_libruntime_a_SOURCES += \
    %D%/container_root.cpp \
    %D%/container_root.hpp \
    %D%/container_state.cpp \
    %D%/container_state.hpp \
    %D%/cuda_compat.cpp \
    %D%/cuda_compat.hpp \
    %D%/device_params.cpp \
    %D%/device_params.hpp \
    %D%/ldconfig.cpp \
    %D%/ldconfig.hpp \
    %D%/mount_calls.cpp \
    %D%/mount_calls.hpp \
    %D%/options.cpp \
    %D%/options.hpp \
    %D%/privileges.cpp \
    %D%/privileges.hpp \
    %D%/search_path.cpp \
    %D%/search_path.hpp \
    %D%/symlinks.cpp \
    %D%/symlinks.hpp
