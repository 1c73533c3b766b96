# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += %D%/libruntime.a
%C%_libruntime_a_SOURCES = \
    %D%/container_root.cpp \
    %D%/container_root.hpp \
    %D%/container_state.cpp \
    %D%/container_state.hpp \
    %D%/hook_cuda_compat.cpp \
    %D%/hook_cuda_compat.hpp \
    %D%/hook_device_params.cpp \
    %D%/hook_device_params.hpp \
    %D%/hook_ldconfig.cpp \
    %D%/hook_ldconfig.hpp \
    %D%/hook_options.cpp \
    %D%/hook_options.hpp \
    %D%/hook_search_path.cpp \
    %D%/hook_search_path.hpp \
    %D%/hook_symlinks.cpp \
    %D%/hook_symlinks.hpp \
    %D%/mount_calls.cpp \
    %D%/mount_calls.hpp \
    %D%/privileges.cpp \
    %D%/privileges.hpp
