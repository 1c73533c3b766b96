# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += %D%/libruntime.a
%C%_libruntime_a_CPPFLAGS = $(AM_CPPFLAGS) $(YAML_CFLAGS)
%C%_libruntime_a_SOURCES = \
    %D%/cdi_check.cpp \
    %D%/cdi_component.cpp \
    %D%/cdi_component.hpp \
    %D%/cdi_facts.cpp \
    %D%/cdi_facts.hpp \
    %D%/cdi_generate.cpp \
    %D%/cdi_generate.hpp \
    %D%/cdi_parse.cpp \
    %D%/cdi_publisher.cpp \
    %D%/cdi_publisher.hpp \
    %D%/cdi_record.cpp \
    %D%/cdi_record.hpp \
    %D%/cdi_settings.cpp \
    %D%/cdi_settings.hpp \
    %D%/cdi_spec.cpp \
    %D%/cdi_spec.hpp \
    %D%/cdi_steps.cpp \
    %D%/cdi_steps.hpp \
    %D%/character_device.cpp \
    %D%/character_device.hpp \
    %D%/container_root.cpp \
    %D%/container_root.hpp \
    %D%/container_state.cpp \
    %D%/container_state.hpp \
    %D%/driver_root.cpp \
    %D%/driver_root.hpp \
    %D%/file_search.cpp \
    %D%/file_search.hpp \
    %D%/gpus.cpp \
    %D%/gpus.hpp \
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
    %D%/other_specs.cpp \
    %D%/other_specs.hpp \
    %D%/privileges.cpp \
    %D%/privileges.hpp \
    %D%/spec_documents.cpp \
    %D%/spec_documents.hpp \
    %D%/spec_files.cpp \
    %D%/spec_files.hpp \
    %D%/yaml.cpp \
    %D%/yaml.hpp
